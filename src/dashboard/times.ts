/** When people come: page views by the weekday and the hour of the site's days. */
import type { Calendar } from '../support/calendar.js'
import { dayIn, mondayOf } from '../support/calendar-days.js'
import { HOUR_MS } from '../support/clock.js'
import { sinceOf } from './since.js'
import type { DashboardSource, Dated, Read } from './source.js'
import type { Span } from './span.js'

/** An hour of a weekday: its page views on all of some days. */
export interface WeekHour {
  /** 0 is Monday. */
  readonly weekday: number
  /** 0 to 23. */
  readonly hour: number
  pageViews: number
  days: number
}

/** A shorter span says little of a weekday. A longer one is read in its last days. */
const [LEAST_DAYS, MOST_DAYS] = [28, 364]

/** The hours of a week, in the days of a span or in the four weeks up to its end. */
export async function weekHours(
  source: DashboardSource,
  span: Span,
  { now, calendar }: { readonly now: number; readonly calendar: Calendar },
  read: Read,
): Promise<Dated<readonly WeekHour[]> | null> {
  const { whole } = await sinceOf(source, calendar, read)
  const [least, most] = [LEAST_DAYS, MOST_DAYS].map((days) => calendar.shifted(span.to, -days))
  const from = Math.max(whole, most!, Math.min(span.from, least!))
  const to = Math.min(span.to, calendar.startOfHour(calendar.hourOf(now)))
  const answer = await read('hours', async () =>
    from < to
      ? source.hours({ from, to })
      : { figures: [], asOf: new Date(to).toISOString(), stale: false },
  )
  if (!answer) return null
  const over = answer.figures.filter(
    (_, at) => from + (at + 1) * HOUR_MS <= Date.parse(answer.asOf),
  )
  return { ...answer, figures: summed(over, from, calendar) }
}

function summed(views: readonly number[], from: number, calendar: Calendar): WeekHour[] {
  const hours = new Map<string, WeekHour & { day: number }>()
  for (const [at, pageViews] of views.entries()) {
    const text = calendar.textOf(from + at * HOUR_MS)
    const day = dayIn(text.slice(0, 10))!
    const [weekday, hour] = [day - mondayOf(day), Number(text.slice(11, 13))]
    const one = hours.get(`${weekday} ${hour}`) ?? { weekday, hour, pageViews: 0, days: 0, day: -1 }
    hours.set(`${weekday} ${hour}`, one)
    one.pageViews += pageViews
    // An hour that clocks repeat is one of the same day.
    if (one.day !== day) one.days++
    one.day = day
  }
  return Array.from(hours.values(), ({ day: _, ...hour }) => hour)
}
