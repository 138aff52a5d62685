/** Checks the queries of `history()` and `top()`, and cuts them to whole hours or days. */
import { integer, oneOf, onlyKnown, wrongType, wrongValue } from '../support/options.js'
import { askedValue } from './sums.js'
import type { Calendar, Period, PeriodRange } from '../support/calendar.js'
import { dayIn, dayText, type LongPeriod, wholePeriods } from '../support/calendar-days.js'
import {
  checkedRange,
  DEFAULT_VALUES,
  HISTORY_PERIODS,
  type HistoryPeriod,
  MAX_HOURS_OF_DAYS,
  MAX_PERIODS,
  MAX_TOP_VALUES,
  type Moment,
} from '../support/periods.js'

/** Hours that values are kept for each day of `historyDays`, whatever the clocks do. */
const HOURS_A_DAY = 24

/** Query of {@link Activity.history}. */
export interface HistoryQuery {
  /** The first hour, day, week or month is the one that this lies in. */
  from: Moment
  /** The last one is the one that ends here, or that this lies in. */
  to: Moment
  /** Hours, days, weeks that begin on Monday, or months. */
  by: HistoryPeriod
}

/** Query of {@link Activity.history} for one value of a dimension. */
export interface ValueHistoryQuery extends HistoryQuery {
  /** `page`, or one of the option `dimensions`. */
  dimension: string
  /** A value as `top()` returns it. `(other)`: the values that are not listed one by one. */
  value: string
}

/** Query of {@link Activity.top}. */
export interface TopQuery {
  /** The first hour is the one that this lies in. */
  from: Moment
  /** The last hour is the one that ends here, or that this lies in. */
  to: Moment
  /** Number of values, 1 to 1,000. @default 10 */
  n?: number | undefined
  /**
   * Whether to count the views of bots, not of people. @default false, but of `bot` and
   * `botPurpose` true
   */
  bots?: boolean | undefined
}

/** Whether a query names a dimension or a value of one. */
export function isOfValue(query: HistoryQuery | ValueHistoryQuery): query is ValueHistoryQuery {
  // What is no object at all is refused with the other fields.
  const { dimension, value } = Object(query) as Partial<ValueHistoryQuery>
  return dimension !== undefined || value !== undefined
}

/** The hours or days to read, and what they are summed by. */
export interface CheckedHistory {
  readonly by: Period
  readonly range: PeriodRange
  readonly summedBy?: LongPeriod
}

/** @throws TypeError, RangeError naming the field that is wrong */
export function checkedHistory(query: HistoryQuery, calendar: Calendar): CheckedHistory {
  onlyKnown('history', query, ['from', 'to', 'by', 'dimension', 'value'])
  const asked = oneOf('by', query.by, HISTORY_PERIODS)
  const by = asked === 'hour' ? 'hour' : 'day'
  const range = checkedRange(query, by, MAX_PERIODS[by], calendar)
  return asked === 'week' || asked === 'month'
    ? { by, range: wholePeriods(range, asked), summedBy: asked }
    : { by, range }
}

/** @throws TypeError, RangeError naming the field that is wrong */
export function checkedValueHistory(
  query: ValueHistoryQuery,
  dimensions: readonly string[],
  calendar: Calendar,
): CheckedHistory & { dimension: string; value: string } {
  const dimension = oneOf('dimension', query.dimension, dimensions)
  const { value } = query
  const allowed = 'a value as top() returns it, which is no empty text'
  if (typeof value !== 'string') throw wrongType('value', value, allowed)
  if (value === '') throw wrongValue('value', value, allowed)
  return { ...checkedHistory(query, calendar), dimension, value: askedValue(dimension, value) }
}

/**
 * As {@link checkedHistory}, but hours of as long a time as days.
 *
 * @throws TypeError, RangeError naming the field that is wrong
 */
export function exportQuery(
  query: HistoryQuery & { readonly by: Period },
  calendar: Calendar,
): { range: PeriodRange } {
  const max = query.by === 'hour' ? MAX_HOURS_OF_DAYS : MAX_PERIODS.day
  return { range: checkedRange(query, query.by, max, calendar) }
}

/** @throws TypeError, RangeError naming the field that is wrong */
export function checkedTop(
  query: TopQuery,
  calendar: Calendar,
): { range: PeriodRange; n: number; bots: boolean } {
  onlyKnown('top', query, ['from', 'to', 'n', 'bots'])
  const n = integer('n', query.n ?? DEFAULT_VALUES, 1, MAX_TOP_VALUES, 'values')
  const bots = oneOf('bots', query.bots ?? false, [true, false])
  return { range: checkedRange(query, 'hour', MAX_HOURS_OF_DAYS, calendar), n, bots }
}

/**
 * A range whose first day is no longer kept by the hour begins with that day, and ends with the
 * last one whole.
 *
 * @param keptFrom the first hour that is kept
 */
export function wholeDays(
  { from, to }: PeriodRange,
  keptFrom: number,
  calendar: Calendar,
): PeriodRange {
  if (from >= keptFrom) return { from, to }
  const floor = (hour: number): number => calendar.firstHour(calendar.dayOfHour(hour))
  // The hours of the last day may be read one by one only if its first one is kept.
  return {
    from: floor(from),
    to: floor(to) >= keptFrom ? to : calendar.firstHour(calendar.dayFrom(to)),
  }
}

/**
 * The number of a day, counted from 1970, that is written as `2026-05-17`.
 *
 * @throws TypeError, RangeError for what is no day, or one that has not begun
 */
export function dayNumber(option: string, day: unknown, now: number, calendar: Calendar): number {
  const today = dayText(calendar.dayOf(now))
  const allowed = `a day in ${calendar.zone} that has begun, such as "${today}"`
  if (typeof day !== 'string') throw wrongType(option, day, allowed)
  const number = dayIn(day) ?? NaN
  if (number >= 0 && number <= calendar.dayOf(now)) return number
  throw wrongValue(option, day, allowed)
}

/** The first hour whose values are kept by the hour for some days. */
export function keptFrom(now: number, days: number, calendar: Calendar): number {
  return calendar.hourOf(now) - HOURS_A_DAY * days
}
