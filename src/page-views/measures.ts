/**
 * The measures of page views, which are never mixed in one figure: each has a name of its own, and
 * with it a grid, a ledger, days and certificates of its own.
 */
import { identifier, wrongValue } from '../support/options.js'

/**
 * `served`: pages that the server sent to people. `seen`: pages that browsers report as looked at.
 * `bots`: pages that were sent to bots. `gone`: answers to people who went to a page that is not
 * there.
 */
export type Measure = 'served' | 'seen' | 'bots' | 'gone'

/** The measures of page views. */
export const MEASURES = ['served', 'seen', 'bots'] as const satisfies readonly Measure[]
export const WITH_GONE: readonly Measure[] = [...MEASURES, 'gone']

/** Ends of the names of measures. */
const ENDS: Readonly<Record<Measure, string>> = {
  served: '',
  seen: '.seen',
  bots: '.bots',
  gone: '.gone',
}

/** Most characters of a full name. */
const MAX_FULL_NAME = 32
const LONGEST_END = 5

/** Returns the full name of a measure of `name`. */
export function measureName(name: string, measure: Measure): string {
  return name + ENDS[measure]
}

/** Returns the name and the measure that a full name consists of. */
export function measureOf(fullName: string): { readonly name: string; readonly measure: Measure } {
  for (const measure of ['seen', 'bots', 'gone'] as const) {
    const end = ENDS[measure]
    if (fullName.endsWith(end)) return { name: fullName.slice(0, -end.length), measure }
  }
  return { name: fullName, measure: 'served' }
}

/** Returns the measure of the views of people that is not this one. */
export function otherMeasure(measure: 'served' | 'seen'): 'served' | 'seen' {
  return measure === 'served' ? 'seen' : 'served'
}

/** Views of both measures of people; of the one that is counted, the other field is missing. */
interface ByMeasure {
  readonly seen?: number | null
  readonly served?: number | null
}

/** Returns the views that no browser has reported, beside `counted` ones, if both are measured. */
export function unseenOf(counted: number | null, views: ByMeasure): { unseen?: number | null } {
  const { served = counted, seen = counted } = views
  if (views.served === undefined && views.seen === undefined) return {}
  return { unseen: served === null || seen === null ? null : Math.max(0, served - seen) }
}

/** The measure of a page that the server has sent. */
export function sentMeasure(isBot: boolean): Measure {
  return isBot ? 'bots' : 'served'
}

/**
 * Checks a name whose measures have full names.
 *
 * @param start the beginning of the full names, before the name
 * @throws TypeError, RangeError
 */
export function measuredName(option: string, value: unknown, start = ''): string {
  const name = identifier(option, value, MAX_FULL_NAME - LONGEST_END - start.length)
  if (measureOf(name).measure === 'served') return name
  throw wrongValue(option, name, 'a name that does not end in ".seen", ".bots" or ".gone"')
}
