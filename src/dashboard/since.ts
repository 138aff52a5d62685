/**
 * The days that figures can be compared with. A day before the first one has no figures, which is
 * not 0, and the first one began with the site somewhere in its middle.
 */
import type { Calendar } from '../support/calendar.js'
import { dayIn } from '../support/calendar-days.js'
import type { ValuePeriod } from './site-figures.js'
import type { Beginning, Read } from './source.js'

/** When figures begin. */
export interface Since {
  /** `null`: it is not known, or there are no figures. */
  readonly firstDay: string | null
  /** Start of the first whole day, in milliseconds since the Unix epoch. */
  readonly whole: number
}

/** Reads when the figures of a source begin. Where that cannot be read, nothing is compared. */
export async function sinceOf(source: Beginning, calendar: Calendar, read: Read): Promise<Since> {
  if (!source.firstDay) return { firstDay: null, whole: 0 }
  const firstDay = await read('the first day', async () => source.firstDay!())
  const day = firstDay === null ? undefined : dayIn(firstDay)
  return { firstDay, whole: day === undefined ? Infinity : calendar.startOfDay(day + 1) }
}

/** The page views of periods; `null`: those before the first whole day are not known. */
export function known(periods: readonly ValuePeriod[], { whole }: Since): (number | null)[] {
  return periods.map(({ start, pageViews }) => (Date.parse(start) < whole ? null : pageViews))
}
