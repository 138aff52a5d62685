/**
 * The lists of the page: the values of each dimension, those of the views of bots, and the pages
 * under a path. Their names are parameters of its requests and files.
 */
import type { ListRange } from './source.js'

/** What bots read: no view of people is among these, and none of these among those of people. */
const OF_BOTS = ['bot', 'botPurpose', 'bots:page']
/** Addresses that people went to and that are not there. */
const GONE = 'gone'
const BOTS = 'bots:'
const UNDER = 'under:'

/** Lists that are a tab of another one. */
const TAB_OF: Readonly<Record<string, string>> = {
  section: 'page',
  [GONE]: 'page',
  source: 'referrer',
  browser: 'device',
  system: 'device',
  language: 'country',
  botPurpose: 'bot',
  'bots:page': 'bot',
}

/** A list that the page asks for once it is seen. */
export interface LaterList {
  readonly dimension: string
  /** The list whose tab it is. */
  readonly tabOf?: string
}

/** The lists that the page begins with, and those that it asks for later. */
export function listsOf(dimensions: readonly string[]): {
  readonly first: readonly string[]
  readonly later: readonly LaterList[]
} {
  const isTab = (one: string): boolean => dimensions.includes(TAB_OF[one] ?? '')
  const tabs = dimensions.filter(isTab).map((one) => ({ dimension: one, tabOf: TAB_OF[one]! }))
  const ofOthers = [GONE, ...OF_BOTS].map((dimension) => {
    const tabOf = TAB_OF[dimension]
    return tabOf === undefined ? { dimension } : { dimension, tabOf }
  })
  return { first: dimensions.filter((one) => !isTab(one)), later: [...tabs, ...ofOthers] }
}

/** Whether a list is of the views of bots. */
export const isOfBots = (name: string): boolean => OF_BOTS.includes(name)

/** What the shares of a list are of; `undefined`: it has none. */
export function wholeOf(name: string): 'pageViews' | 'bots' | undefined {
  if (name === GONE) return undefined
  return isOfBots(name) ? 'bots' : 'pageViews'
}

/** The names of the lists with values that have a history. */
export function listNames(dimensions: readonly string[]): readonly string[] {
  return dimensions.length > 0 ? [...dimensions, GONE, ...OF_BOTS] : []
}

/** Whether a list is of the pages under a path. */
export function isUnder(name: string, dimensions: readonly string[]): boolean {
  return name.startsWith(`${UNDER}/`) && dimensions.length > 0
}

/** What a list asks its source for. */
export function askedOf(name: string): Pick<ListRange, 'bots' | 'under'> & { dimension: string } {
  if (name.startsWith(UNDER)) return { dimension: 'page', under: name.slice(UNDER.length) }
  return name.startsWith(BOTS)
    ? { dimension: name.slice(BOTS.length), bots: true }
    : { dimension: name, bots: isOfBots(name) }
}
