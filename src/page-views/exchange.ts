/** What the rule of page views needs of a request of `node:http` and its response. */
import type { Request, Response } from './express.js'
import { isbot } from 'isbot'
import { targetOf } from './handler.js'
import { Memo } from './memo.js'
import { NoPages } from './no-pages.js'
import { asksForHtml, type Exchange, type Verdict, verdictOf } from './page-view.js'

const TYPE = /^content-type:\s*(.*)$/im
const DISPOSITION = /^content-disposition:\s*(.*)$/im

/** Judges responses that have been sent, and remembers which targets lead to no page. */
export class Exchanges {
  readonly #noPages = new NoPages()
  readonly #bots: Bots

  constructor(bots: Bots) {
    this.#bots = bots
  }

  verdictOf(req: Request, res: Response): Verdict {
    const { method, headers } = req
    const { statusCode: status } = res
    const target = targetOf(req)
    const { type, disposition } = contentOf(res)
    const verdict = verdictOf({
      method,
      headers,
      status,
      type,
      disposition,
      isNoPage: () => this.#noPages.has(target),
      isBot: () => this.#bots.isBot(req),
    })
    if (status < 300 && type !== undefined && asksForHtml(headers)) {
      this.#noPages.note(target, verdict === 'type')
    }
    return verdict
  }
}

type Content = Pick<Exchange, 'type' | 'disposition'>

function contentOf(res: Response): Content {
  const type = textOf(res.getHeader('content-type'))
  if (type !== undefined) return { type, disposition: textOf(res.getHeader('content-disposition')) }
  // Headers are not kept where writeHead() was given all at once. Then only the head as it was sent
  // tells.
  const head = '_header' in res && typeof res._header === 'string' ? res._header : ''
  return { type: TYPE.exec(head)?.[1], disposition: DISPOSITION.exec(head)?.[1] }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The visitor asks not to be followed: Global Privacy Control, or Do Not Track. */
export function asksForPrivacy(req: Request): boolean {
  return req.headers['sec-gpc'] === '1' || req.headers['dnt'] === '1'
}

/** User agents remembered. */
const REMEMBERED = 5_000

/** Characters of a user agent that are looked at. A longer one is not remembered. */
const MAX_USER_AGENT = 512

/**
 * Tells bots by their user agents, each looked at once. Browsers always have one, so an empty one
 * is a bot's.
 */
export class Bots {
  readonly #bots = new Memo(REMEMBERED, isbot)

  isBot(req: Request): boolean {
    const userAgent = req.headers['user-agent']
    if (!userAgent) return true
    return userAgent.length <= MAX_USER_AGENT
      ? this.#bots.get(userAgent)
      : isbot(userAgent.slice(0, MAX_USER_AGENT))
  }
}
