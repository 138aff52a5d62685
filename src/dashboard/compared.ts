/** The counts of a list beside those of the period before. */
import type { Calendar, Period } from '../support/calendar.js'
import type { Range } from './source.js'
import type { Since } from './since.js'
import { beforeUntil, type Span } from './span.js'

/** The counts of a value in the units that are over, and in as many before; none: not known. */
export interface Compared {
  readonly over?: number
  readonly before?: number
}

export interface Counts<Value> {
  readonly listed: ReadonlyMap<Value, number>
  /** Whether values that are not listed have no counts. */
  readonly isWhole: boolean
}

/**
 * Reads the counts that the values of a list are compared with. Only whole units are compared,
 * hours or days: one that has begun would be compared with a whole one. `read` gives `null` where
 * it has none.
 */
export async function comparison<Value>(
  span: Span,
  {
    now,
    unit,
    since,
    calendar,
  }: {
    readonly now: number
    readonly unit: Period
    readonly since: Since
    readonly calendar: Calendar
  },
  read: (range: Range) => Promise<Counts<Value> | null>,
): Promise<(value: Value, count: number) => Compared> {
  const { from, to, before } = span
  if (!before) return () => ({})
  const end = Math.max(from, Math.min(to, calendar.startOf(unit, calendar.periodOf(unit, now))))
  const counts = (range: Range) => (range.from < range.to ? read(range) : null)
  const sooner = beforeUntil(span, calendar, end, since.whole)
  // As much of the span as there is before it.
  const later = { from: Math.max(from, calendar.shifted(sooner.from, span.daysAgo)), to: end }
  const isAll = later.from === from && end === to
  const [over, earlier] = await Promise.all([isAll ? undefined : counts(later), counts(sooner)])
  return (value, count) => {
    const now = over === undefined ? count : countOf(value, over)
    const then = countOf(value, earlier)
    return now === undefined || then === undefined ? {} : { over: now, before: then }
  }
}

/** Returns the count of a value; `undefined`: it is not known. */
function countOf<Value>(value: Value, counts: Counts<Value> | null): number | undefined {
  return counts?.listed.get(value) ?? (counts?.isWhole ? 0 : undefined)
}
