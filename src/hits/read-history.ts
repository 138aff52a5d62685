/** Reads the hits of an item by the hour and by the day, with those of the measures beside. */
import type { Queryable } from '../database/database.js'
import { execute, raw } from '../database/sql.js'
import { type Measure, measureName, otherMeasure, unseenOf } from '../page-views/measures.js'
import type { Calendar, Period, PeriodRange } from '../support/calendar.js'
import { dayText } from '../support/calendar-days.js'
import { DAYS, HOURS, keptHoursFrom } from './history.js'

/** Days of one `history()`. */
export const MAX_DAYS = 3_660
export const DEFAULT_DAYS = 30

/**
 * Hits of an item in one hour or day, by measure. A measure is in no other one's figure.
 * `null`: not known, because it is of a day before the first one with hits, or of an hour that is
 * older than 8 days, whose hits are kept by day.
 */
export interface HitsPeriod {
  /** Start of the hour or day, in ISO 8601. */
  readonly start: string
  /** Hits of the period. */
  readonly hits: number | null
  /** Pages of the item that were sent to bots. */
  readonly bots: number | null
  /**
   * Views of the item that browsers have reported. Only with `count: 'served'`, where there have
   * ever been any.
   */
  readonly seen?: number | null
  /**
   * Hits of pages that the server sent to people. Only with `count: 'seen'`, where there have ever
   * been any.
   */
  readonly served?: number | null
  /** Hits of pages that were sent to people and that no browser has reported, if both are known. */
  readonly unseen?: number | null
}

/** The hits whose history is read, and the measure that they are of. */
export interface RecordedHits {
  readonly name: string
  readonly count: 'served' | 'seen'
  /** Whether there have ever been any of the other measure. */
  readonly hasOther: boolean
  readonly calendar: Calendar
}

/** The last `days` days of an item up to that of `now`, without gaps. */
export async function readItemHistory(
  queryable: Queryable,
  site: RecordedHits,
  item: string,
  now: number,
  days: number,
): Promise<HitsPeriod[]> {
  const to = site.calendar.dayOf(now) + 1
  return readPeriods(queryable, DAYS, site, item, { from: to - days, to })
}

/** The hits of an item in each period of `range`, without gaps. */
export async function readItemRange(
  queryable: Queryable,
  site: RecordedHits,
  item: string,
  now: number,
  { by, from, to }: PeriodRange & { readonly by: Period },
): Promise<HitsPeriod[]> {
  const periods = await readPeriods(queryable, by === 'hour' ? HOURS : DAYS, site, item, {
    from,
    to,
  })
  if (by === 'day') return periods
  const keptFrom = keptHoursFrom(now, site.calendar) - from
  return periods.map((period, index) => {
    if (index >= keptFrom) return period
    const other = site.hasOther && { [otherMeasure(site.count)]: null, unseen: null }
    return { start: period.start, hits: null, bots: null, ...other }
  })
}

/** Each measure by its own name, in one statement. */
async function readPeriods(
  queryable: Queryable,
  { table, period }: typeof HOURS,
  { name, count, hasOther, calendar }: RecordedHits,
  item: string,
  { from, to }: PeriodRange,
): Promise<HitsPeriod[]> {
  const other = otherMeasure(count)
  const measures: Measure[] = [count, 'bots', ...(hasOther ? [other] : [])]
  const { rows } = await execute(queryable)`SELECT name, ${raw(period)} AS period, hits
    FROM ${raw(table.name)}
    WHERE name IN (${measures.map((measure) => measureName(name, measure))})
    AND item = ${Buffer.from(item)} AND ${raw(period)} >= ${from} AND ${raw(period)} < ${to}`
  const found = new Map(
    rows.map((row) => [`${String(row['name'])} ${Number(row['period'])}`, Number(row['hits'])]),
  )
  // After the hits, so that none of them is of a day before.
  const [own, ofOther] = await Promise.all(
    [count, other].map((measure) => readFirstDay(queryable, measureName(name, measure))),
  )
  return Array.from({ length: to - from }, (_, index) => {
    const at = from + index
    const start = calendar.textOf(calendar.startOf(period, at))
    const of = (measure: Measure, firstDay: string | null | undefined): number | null =>
      found.get(`${measureName(name, measure)} ${at}`) ?? (firstDay && start >= firstDay ? 0 : null)
    const hits = of(count, own)
    const ofOthers = hasOther ? { [other]: of(other, ofOther) } : {}
    return { start, hits, bots: of('bots', own), ...ofOthers, ...unseenOf(hits, ofOthers) }
  })
}

/** Reads the first day with hits; `null`: there is none. */
export async function readFirstDay(queryable: Queryable, name: string): Promise<string | null> {
  const { rows } = await execute(queryable)`SELECT MIN(day) AS day FROM hits_days
    WHERE name = ${name}`
  const day = rows[0]?.['day'] ?? null
  return day === null ? null : dayText(Number(day))
}
