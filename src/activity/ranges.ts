/** Checks the queries of `history()` and `top()`, and cuts them to whole hours or days. */
import { integer, onlyKnown, wrongType, wrongValue } from '../support/options.js'
import { HOURS_A_DAY } from './books.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import {
  MAX_HOURS_OF_DAYS,
  MAX_PERIODS,
  type Period,
  type PeriodRange,
  startOfDay,
  wholePeriods,
} from '../support/periods.js'

/** A moment: a Date, milliseconds since the Unix epoch, or ISO 8601 such as `2026-05-17T12:00Z`. */
export type Moment = Date | number | string

/** Query of {@link Activity.history}. */
export interface HistoryQuery {
  /** The first hour or day is the one that this lies in. */
  from: Moment
  /** The last one is the one that ends here, or that this lies in. */
  to: Moment
  /** Hours, or days in UTC. */
  by: Period
}

/** Query of {@link Activity.top}. */
export interface TopQuery {
  /** The first hour is the one that this lies in. */
  from: Moment
  /** The last hour is the one that ends here, or that this lies in. */
  to: Moment
  /** Number of values, 1 to 1,000. @default 10 */
  n?: number | undefined
}

/** Values of one answer. */
const MAX_VALUES = 1_000
const DEFAULT_VALUES = 10

const MOMENT = 'a Date, milliseconds since 1970, or an ISO 8601 text such as "2026-05-17T12:00Z"'

/** The latest moment that a Date can be. */
const MAX_MOMENT = 8.64e15

/** @throws TypeError, RangeError naming the field that is wrong */
export function historyQuery(query: HistoryQuery): { by: Period; range: PeriodRange } {
  onlyKnown('history', query, ['from', 'to', 'by'])
  const { by } = query
  if (by !== 'hour' && by !== 'day') throw wrongValue('by', by, '"hour" or "day"')
  return { by, range: rangeOf(query, by, MAX_PERIODS[by]) }
}

/**
 * As {@link historyQuery}, but hours of as long a time as days.
 *
 * @throws TypeError, RangeError naming the field that is wrong
 */
export function exportQuery(query: HistoryQuery): { range: PeriodRange } {
  const max = query.by === 'hour' ? MAX_HOURS_OF_DAYS : MAX_PERIODS.day
  return { range: rangeOf(query, query.by, max) }
}

/** @throws TypeError, RangeError naming the field that is wrong */
export function topQuery(query: TopQuery): { range: PeriodRange; n: number } {
  onlyKnown('top', query, ['from', 'to', 'n'])
  const n = integer('n', query.n ?? DEFAULT_VALUES, 1, MAX_VALUES, 'values')
  return { range: rangeOf(query, 'hour', MAX_HOURS_OF_DAYS), n }
}

/**
 * A range whose first day is no longer kept by the hour begins with that day, and ends with the
 * last one whole.
 *
 * @param keptFrom the first hour that is kept
 */
export function wholeDays({ from, to }: PeriodRange, keptFrom: number): PeriodRange {
  if (from >= keptFrom) return { from, to }
  const floor = (hour: number): number => Math.floor(hour / HOURS_A_DAY) * HOURS_A_DAY
  // The hours of the last day may be read one by one only if its first one is kept.
  return { from: floor(from), to: floor(to) >= keptFrom ? to : floor(to + HOURS_A_DAY - 1) }
}

function rangeOf(query: { from: Moment; to: Moment }, by: Period, max: number): PeriodRange {
  const [from, to] = [momentOf('from', query.from), momentOf('to', query.to)]
  if (from > to) throw wrongValue('from', query.from, 'a moment that is not after "to"')
  const range = wholePeriods(from, to, by, max)
  if (range) return range
  throw wrongValue('from', query.from, `at most ${max} ${by}s before "to"`)
}

function momentOf(option: string, given: unknown): number {
  const ms = given instanceof Date ? given.getTime() : given
  if (typeof ms === 'number') return checked(option, given, ms)
  if (typeof ms === 'string') return checked(option, given, Date.parse(ms))
  throw wrongType(option, given, MOMENT)
}

function checked(option: string, given: unknown, ms: number): number {
  if (ms >= 0 && ms <= MAX_MOMENT) return ms
  throw wrongValue(option, given, MOMENT)
}

/**
 * The number of a UTC day, counted from 1970, that is written as `2026-05-17`.
 *
 * @throws TypeError, RangeError for what is no day, or one that has not begun
 */
export function dayNumber(option: string, day: unknown, now: number): number {
  const today = new Date(now).toISOString().slice(0, 10)
  const allowed = `a day in UTC that has begun, such as "${today}"`
  if (typeof day !== 'string') throw wrongType(option, day, allowed)
  const ms = startOfDay(day) ?? NaN
  if (ms >= 0 && ms <= now) return ms / DAY_MS
  throw wrongValue(option, day, allowed)
}

/** The hour of a moment, counted from 1970. */
export function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS)
}
