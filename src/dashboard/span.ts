/**
 * The ranges that the page offers, in whole days, and the period before each. That has the same
 * weekdays: it is so many whole weeks earlier that the two do not overlap.
 */
import type { Calendar, Period } from '../support/calendar.js'
import { dayIn, dayText } from '../support/calendar-days.js'
import { MAX_PERIODS } from '../support/periods.js'
import { QueryError, parametersOf } from './query.js'
import type { Range } from './source.js'

export interface Span extends Range {
  readonly by: Period
  /** Time zone of its days. */
  readonly zone: string
  /** Its first and its last day, and those of the period before. */
  readonly days: readonly [first: string, last: string]
  readonly daysBefore: readonly [first: string, last: string]
  /** Distance to the period before it, in days. */
  readonly daysAgo: number
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
const DAYS_A_WEEK = 7

/** `range`, or `from` and `to`, its first and last day. */
export const SPAN_PARAMETERS = ['range', 'from', 'to']

/** @throws QueryError */
export function spanOf(query: URLSearchParams, now: number, calendar: Calendar): Span {
  const today = calendar.dayOf(now)
  if (query.get('from') === null && query.get('to') === null) {
    const name = query.get('range') ?? DEFAULT_RANGE
    const known = Object.hasOwn(RANGES, name) ? RANGES[name] : undefined
    if (!known) throw new QueryError('range', name, Object.keys(RANGES).join(', '))
    const [days, ago] = known
    const end = today + 1 - ago
    return spanFrom(end - days, end, calendar)
  }
  const [from, last] = (['from', 'to'] as const).map((end) => {
    const text = query.get(end)
    const day = text === null ? undefined : dayIn(text)
    if (day === undefined || day < 0) throw new QueryError(end, text, 'a day such as 2026-11-01')
    return day
  }) as [number, number]
  if (from > last || last - from >= MAX_PERIODS.day) {
    const allowed = `a day before "to", at most ${MAX_PERIODS.day} days`
    throw new QueryError('from', query.get('from'), allowed)
  }
  return spanFrom(from, last + 1, calendar)
}

/** The span that the query of a URL asks for, and its other parameters. @throws QueryError */
export function spanQuery(
  url: string,
  now: number,
  others: readonly string[],
  calendar: Calendar,
): { readonly span: Span; readonly query: URLSearchParams } {
  const query = parametersOf(url, [...SPAN_PARAMETERS, ...others])
  return { span: spanOf(query, now, calendar), query }
}

/** Days from `first` up to, without, `end`. */
function spanFrom(first: number, end: number, calendar: Calendar): Span {
  const days = end - first
  const daysAgo = Math.ceil(days / DAYS_A_WEEK) * DAYS_A_WEEK
  return {
    from: calendar.startOfDay(first),
    to: calendar.startOfDay(end),
    by: days > DAYS_BY_HOUR ? 'day' : 'hour',
    zone: calendar.zone,
    days: [dayText(first), dayText(end - 1)],
    daysBefore: [dayText(first - daysAgo), dayText(end - 1 - daysAgo)],
    daysAgo,
  }
}

/**
 * The period before a span, or before as much of it as there is at `now`, from the day `since` on:
 * empty where the whole is earlier.
 */
export function before(
  { from, to, daysAgo }: Span,
  calendar: Calendar,
  now = Infinity,
  since = 0,
): Range {
  const earlier = (ms: number): number => calendar.shifted(ms, -daysAgo)
  const end = Math.max(0, earlier(Math.max(from, Math.min(to, now))))
  return { from: Math.min(end, Math.max(since, earlier(from))), to: end }
}
