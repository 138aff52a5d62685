/**
 * The ranges that the page offers, in whole UTC days, and the period before each. That has the same
 * weekdays: it is so many whole weeks earlier that the two do not overlap.
 */
import { DAY_MS } from '../support/clock.js'
import { MAX_PERIODS, type Period, startOfDay } from '../support/periods.js'
import { QueryError, parametersOf } from './query.js'
import type { Range } from './source.js'

export interface Span extends Range {
  readonly by: Period
  /** Distance to the period before it, in milliseconds. */
  readonly beforeMs: number
}

/** Days of each range, and those between its last one and today. */
const RANGES: Readonly<Record<string, readonly [days: number, ago: number]>> = {
  today: [1, 0],
  yesterday: [1, 1],
  '7d': [7, 0],
  '30d': [30, 0],
  '12m': [365, 0],
}
const DEFAULT_RANGE = '7d'
/** Longer ranges are shown by day. */
const DAYS_BY_HOUR = 2
const WEEK_MS = 7 * DAY_MS

/** `range`, or `from` and `to`, its first and last day. */
export const SPAN_PARAMETERS = ['range', 'from', 'to']

/** @throws QueryError */
export function spanOf(query: URLSearchParams, now: number): Span {
  const today = Math.floor(now / DAY_MS) * DAY_MS
  if (query.get('from') === null && query.get('to') === null) {
    const name = query.get('range') ?? DEFAULT_RANGE
    const known = Object.hasOwn(RANGES, name) ? RANGES[name] : undefined
    if (!known) throw new QueryError('range', name, Object.keys(RANGES).join(', '))
    const [days, ago] = known
    const to = today + (1 - ago) * DAY_MS
    return spanFrom(to - days * DAY_MS, to)
  }
  const [from, last] = (['from', 'to'] as const).map((end) => {
    const day = query.get(end)
    const start = day === null ? undefined : startOfDay(day)
    if (start === undefined || start < 0) throw new QueryError(end, day, 'a day such as 2026-11-01')
    return start
  }) as [number, number]
  if (from > last || last - from >= MAX_PERIODS.day * DAY_MS) {
    const allowed = `a day before "to", at most ${MAX_PERIODS.day} days`
    throw new QueryError('from', query.get('from'), allowed)
  }
  return spanFrom(from, last + DAY_MS)
}

/** The span that the query of a URL asks for, and its other parameters. @throws QueryError */
export function spanQuery(
  url: string,
  now: number,
  others: readonly string[],
): { readonly span: Span; readonly query: URLSearchParams } {
  const query = parametersOf(url, [...SPAN_PARAMETERS, ...others])
  return { span: spanOf(query, now), query }
}

function spanFrom(from: number, to: number): Span {
  const by = to - from > DAYS_BY_HOUR * DAY_MS ? 'day' : 'hour'
  return { from, to, by, beforeMs: Math.ceil((to - from) / WEEK_MS) * WEEK_MS }
}

/**
 * The period before a span, or before as much of it as there is at `now`, from the day `since` on:
 * empty where the whole is earlier.
 */
export function before({ from, to, beforeMs }: Span, now = Infinity, since = 0): Range {
  const end = Math.max(0, Math.max(from, Math.min(to, now)) - beforeMs)
  return { from: Math.min(end, Math.max(since, from - beforeMs)), to: end }
}
