/**
 * The panels of one page agree. The figures of now are read again and again, and a history is kept
 * for longer. Page views only grow, so those of the open day are the greater ones of both.
 */
import type { Calendar, Period } from '../support/calendar.js'
import { dayIn } from '../support/calendar-days.js'
import type { Today } from './source.js'

/** Periods of a history with at least the page views that the open day has. */
export function withToday<
  One extends { readonly start: string; readonly pageViews: number | null },
>(periods: readonly One[], by: Period, { day, views, hours }: Today, calendar: Calendar): One[] {
  const first = calendar.firstHour(dayIn(day) ?? NaN)
  return periods.map((one) => {
    const at = calendar.hourOf(Date.parse(one.start)) - first
    const known = (by === 'hour' ? hours[at] : at === 0 ? views : undefined) ?? 0
    return known > (one.pageViews ?? 0) ? { ...one, pageViews: known } : one
  })
}
