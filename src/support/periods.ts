/** Ranges of hours and days, and moments, as users write them. */
import type { Calendar, Period, PeriodRange } from './calendar.js'
import { dayIn } from './calendar-days.js'
import { wrongType, wrongValue } from './options.js'

/**
 * A period of a history: hours and days, or weeks from Monday and months, which are summed days.
 */
export type HistoryPeriod = Period | 'week' | 'month'

export const HISTORY_PERIODS: readonly HistoryPeriod[] = ['hour', 'day', 'week', 'month']

/** A moment: a Date, milliseconds since the Unix epoch, or ISO 8601 such as `2026-05-17T12:00Z`. */
export type Moment = Date | number | string

/** Periods of one answer: a year of hours, ten years of days. */
export const MAX_PERIODS: Readonly<Record<Period, number>> = { hour: 8_784, day: 3_660 }

/** Hours of one answer whose cost grows with its days: as long a time as days. */
export const MAX_HOURS_OF_DAYS = 24 * MAX_PERIODS.day

/** Values of one answer. */
export const MAX_TOP_VALUES = 1_000
export const DEFAULT_VALUES = 10

/** Characters of a day such as `2026-05-17`. */
const DAY_LENGTH = 10
const LAST_MOMENT = Date.UTC(9999, 11, 31)
const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?$/

/**
 * Widens a time between two moments to whole hours or days, `max` at most.
 *
 * @param wrong makes the error that tells which end is wrong, and what is allowed; `undefined`: a
 * moment
 */
export function rangeOf(
  { from, to }: { readonly from: unknown; readonly to: unknown },
  by: Period,
  max: number,
  calendar: Calendar,
  wrong: (end: 'from' | 'to', allowed?: string) => Error,
): PeriodRange {
  const [since, until] = [momentOf(from, calendar), momentOf(to, calendar)]
  if (until === undefined) throw wrong('to')
  if (since === undefined) throw wrong('from')
  if (since > until) throw wrong('from', 'a moment that is not after "to"')
  const range = calendar.rangeOf(by, since, until)
  if (range.to - range.from <= max) return range
  const days = by === 'hour' ? max / 24 : max
  // Days with more than 24 hours may be among them.
  const end = calendar.shifted(calendar.startOf(by, range.from), days)
  if (end >= calendar.startOf(by, range.to)) return range
  throw wrong('from', `at most ${days} days before "to"`)
}

const MOMENT = 'a Date, milliseconds since 1970, or an ISO 8601 text such as "2026-05-17T12:00Z"'

/**
 * {@link rangeOf} of what a user gives.
 *
 * @throws TypeError, RangeError naming the field that is wrong
 */
export function checkedRange(
  query: { readonly from: unknown; readonly to: unknown },
  by: Period,
  max: number,
  calendar: Calendar,
): PeriodRange {
  return rangeOf(query, by, max, calendar, (end, allowed = MOMENT) => {
    const given = query[end]
    const isMoment = given instanceof Date || ['number', 'string'].includes(typeof given)
    return (isMoment ? wrongValue : wrongType)(end, given, allowed)
  })
}

/** Returns the milliseconds since the Unix epoch of a {@link Moment}; `undefined`: it is none. */
export function momentOf(given: unknown, calendar: Calendar): number | undefined {
  const ms = given instanceof Date ? given.getTime() : given
  const moment = typeof ms === 'string' ? momentIn(ms, calendar) : ms
  return typeof moment === 'number' && moment >= 0 && moment <= LAST_MOMENT ? moment : undefined
}

function momentIn(text: string, calendar: Calendar): number | undefined {
  // Date.parse takes 2026-02-31 for a day in March.
  const day = ISO.test(text) ? dayIn(text.slice(0, DAY_LENGTH)) : undefined
  if (day === undefined) return undefined
  return text.length === DAY_LENGTH ? calendar.startOfDay(day) : Date.parse(text)
}
