/**
 * The name and the purpose of a bot, by its own word: a user agent is a claim that nothing here
 * verifies. The list is that of the package crawler-user-agents.
 */
import crawlers from 'crawler-user-agents'

/** What a bot reads pages for. */
export type BotPurpose = 'training' | 'assistant' | 'search' | 'monitoring' | 'other'

/** A bot as its user agent tells it. */
export interface Bot {
  /** `undefined`: the user agent names none. */
  readonly name: string | undefined
  readonly purpose: BotPurpose
}

interface Known extends Bot {
  readonly pattern: RegExp
}

/** Purposes by the tags of the list. It does not say what those of the tag `ai-crawler` are for. */
const PURPOSES = {
  'ai-crawler': 'training',
  'search-engine': 'search',
  monitoring: 'monitoring',
} as const satisfies Readonly<Record<string, BotPurpose>>
const PURPOSE_TAGS = ['ai-crawler', 'search-engine', 'monitoring'] as const

/** A pattern that is a name. */
const PLAIN = /^[\w.+ /-]+$/

/** Bots of that tag that read on behalf of a person, and those that fill an index for answers. */
const ASSISTANTS =
  /-?User$|^(?:DuckAssistBot|Google-NotebookLM|Gemini-Deep-Research|kagi-fetcher|Devin|linkReader)$/
const ANSWERS =
  /Search|^(?:Perplexity|Phind|iAsk|Linkup|Kendra|Tavily|Liner)Bot|^(?:iaskspider|Anomura)/

/** Names of unknown bots: one that says so, else the first product that is no browser's. */
const SAYS_SO = /[\w.-]*(?:bot|crawl|spider|fetch|scrap|monitor)[\w.-]*/i
const PRODUCT = /(?:^|compatible; *)(?!Mozilla\/)([a-z][\w.-]*)/i

/** Characters of the name of an unknown bot. */
const MAX_NAME = 40

let known: readonly Known[] | undefined

/** Returns what a user agent claims. Takes some 30 microseconds. */
export function botOf(userAgent: string): Bot {
  known ??= crawlers.map(knownOf)
  let found: Known | undefined
  let best = 0
  for (const one of known) {
    const matched = one.pattern.exec(userAgent)?.[0].length
    if (matched === undefined) continue
    // Of several the one with a purpose, then the longest: a bot may name the library that it uses.
    const rank = matched + (one.purpose === 'other' ? 0 : userAgent.length)
    if (rank > best) [found, best] = [one, rank]
  }
  if (found) return found
  const [name] = SAYS_SO.exec(userAgent) ?? []
  const shortened = (name ?? PRODUCT.exec(userAgent)?.[1])?.slice(0, MAX_NAME)
  return { name: shortened, purpose: 'other' }
}

function knownOf(crawler: (typeof crawlers)[number]): Known {
  const { instances, tags = [] }: typeof crawler & { readonly tags?: readonly string[] } = crawler
  const pattern = new RegExp(crawler.pattern)
  // Of `[cC]laude[bB]ot` the capitals.
  const written = crawler.pattern.replaceAll(/\[([a-z])([A-Z])\]/g, '$2').replaceAll(/[\\^]/g, '')
  const claimed = PLAIN.test(written) ? written : pattern.exec(instances[0] ?? '')?.[0]
  const name = (claimed ?? written)
    .replaceAll(/[^\w.+ -]/g, '')
    .trim()
    .slice(0, MAX_NAME)
  const tagged = PURPOSE_TAGS.find((tag) => tags.includes(tag))
  const purpose = tagged ? PURPOSES[tagged] : 'other'
  return { pattern, name, purpose: purpose === 'training' ? aiPurpose(name) : purpose }
}

function aiPurpose(name: string): BotPurpose {
  if (ASSISTANTS.test(name)) return 'assistant'
  return ANSWERS.test(name) ? 'search' : 'training'
}
