/** Hours and UTC days: ranges of them, and days written as text. */
import { DAY_MS, HOUR_MS } from './clock.js'

/** A length of time that history is divided by. */
export type Period = 'hour' | 'day'

/** Hours or days since 1970, from `from` up to, without, `to`. */
export interface PeriodRange {
  readonly from: number
  readonly to: number
}

export const PERIOD_MS: Readonly<Record<Period, number>> = { hour: HOUR_MS, day: DAY_MS }

/** Periods of one answer: a year of hours, ten years of days. */
export const MAX_PERIODS: Readonly<Record<Period, number>> = { hour: 8_784, day: 3_660 }

/** Hours of one answer whose cost grows with its days: as long a time as days. */
export const MAX_HOURS_OF_DAYS = (MAX_PERIODS.day * DAY_MS) / HOUR_MS

/** Widens a time between two moments to whole hours or days. `undefined`: more than `max`. */
export function wholePeriods(
  from: number,
  to: number,
  by: Period,
  max: number,
): PeriodRange | undefined {
  const ms = PERIOD_MS[by]
  const range = { from: Math.floor(from / ms), to: Math.ceil(to / ms) }
  return range.to - range.from <= max ? range : undefined
}

/** The start of a UTC day that is written as `2026-05-17`; `undefined` for what is no day. */
export function startOfDay(text: string): number | undefined {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : NaN
  // Of 30 February, a Date makes 2 March.
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text) ? ms : undefined
}
