/** Weeks and months of days, which are numbers counted from 1970-01-01. No clock, no time zone. */
import { DAY_MS } from './clock.js'

const DAYS_A_WEEK = 7

/** The Monday of the week of a day. */
export function mondayOf(day: number): number {
  // 1970-01-01 was a Thursday.
  return day - ((day + 3) % DAYS_A_WEEK)
}

/** The first day of the month of a day, or of the month that is so many months later. */
export function monthOf(day: number, later = 0): number {
  const date = new Date(day * DAY_MS)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1) / DAY_MS
}

/** The number of months from the month of one day to that of another. */
export function monthsBetween(from: number, to: number): number {
  const [first, last] = [new Date(from * DAY_MS), new Date(to * DAY_MS)]
  const years = last.getUTCFullYear() - first.getUTCFullYear()
  return years * 12 + last.getUTCMonth() - first.getUTCMonth()
}

/** `2026-05-17`. */
export function dayText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/** Returns the day that is written as `2026-05-17`; `undefined` for what is no day. */
export function dayIn(text: string): number | undefined {
  const ms = Date.parse(`${text}T00:00:00Z`)
  // Of 30 February, a Date makes 2 March; of 2026-05, 1 May.
  const isDay = !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, 10) === text
  return isDay ? ms / DAY_MS : undefined
}

/** A length of time that is summed from days. */
export type LongPeriod = 'week' | 'month'

/** Widens days to whole weeks or months. */
export function wholePeriods(
  { from, to }: { readonly from: number; readonly to: number },
  by: LongPeriod,
): { readonly from: number; readonly to: number } {
  if (from === to) return { from, to }
  return by === 'week'
    ? { from: mondayOf(from), to: mondayOf(to - 1) + DAYS_A_WEEK }
    : { from: monthOf(from), to: monthOf(to - 1, 1) }
}

/**
 * Weeks or months of the figures of days, which begin with a whole one. A count is the sum of its
 * known days, `null` if there is none; the visitors are those of the day with the most. `imported`
 * is true where it is of a day.
 */
export function summedBy<One extends { readonly start: string }>(
  days: readonly One[],
  by: LongPeriod,
): One[] {
  const firstOf = by === 'week' ? mondayOf : monthOf
  const groups = new Map<number, One[]>()
  for (const one of days) {
    const day = Date.parse(one.start.slice(0, 10)) / DAY_MS
    const group = groups.get(firstOf(day)) ?? []
    group.push(one)
    groups.set(firstOf(day), group)
  }
  return Array.from(groups.values(), together)
}

function together<One extends { readonly start: string }>(days: One[]): One {
  const [first] = days as [One]
  const counts = Object.keys(first)
    .filter((field) => field !== 'start' && field !== 'imported')
    .map((field) => {
      const known = days.flatMap((day) => (day as Record<string, unknown>)[field] ?? []) as number[]
      const count =
        field === 'visitors' ? Math.max(...known) : known.reduce((sum, one) => sum + one, 0)
      return [field, known.length > 0 ? count : null]
    })
  const imported = days.some((day) => 'imported' in day) && { imported: true }
  return { ...first, ...Object.fromEntries(counts), ...imported }
}
