/** Whether the books of an activity balance, as metrics of its name. */
import type { Queryable } from '../database/database.js'
import { execute } from '../database/sql.js'
import { counter, gauge } from '../metrics/metric.js'
import { type Measure, measureName, measureOf } from '../page-views/measures.js'
import type { AddedMetrics } from '../wide-cache/operations/name-state.js'

export const BOOK_METRICS = {
  difference: gauge(
    'books_difference_rows',
    '{row}',
    'Rows that the ledger has committed beside those that the hours account for. 0 is healthy.',
  ),
  hoursEqual: gauge(
    'recounted_hours_equal',
    '{hour}',
    'Hours of kept rows whose last recount found them equal to their sums.',
  ),
  hoursUnequal: gauge(
    'recounted_hours_unequal',
    '{hour}',
    'Hours of kept rows whose last recount found a difference from their sums. 0 is healthy.',
  ),
} as const

/** Result of the collectors' last comparison. */
export const bookMetrics: AddedMetrics = {
  table: BOOK_METRICS,
  async read(queryable: Queryable, name: string) {
    const [row = {}] = (
      await execute(queryable)`SELECT (SELECT difference FROM activity_books
      WHERE name = ${name}) AS difference, COUNT(recounted) AS recounted, SUM(CASE
      WHEN recounted <> '' THEN 1 ELSE 0 END) AS unequal FROM activity_hours
      WHERE name = ${name} AND hour >= (SELECT MIN(second - second % 3600) / 3600
      FROM activity_seconds WHERE name = ${name})`
    ).rows
    return {
      difference: Number(row['difference'] ?? 0),
      hoursEqual: Number(row['recounted'] ?? 0) - Number(row['unequal'] ?? 0),
      hoursUnequal: Number(row['unequal'] ?? 0),
    }
  },
}

export const VIEW_METRICS = {
  served: counter('served_views', '{view}', 'Page views that the server sent to people.'),
  seen: counter('seen_views', '{view}', 'Page views that browsers have reported.'),
  bots: counter('bot_views', '{view}', 'Pages that were sent to bots.'),
} as const

/** The same for the name of one measure, and the views of all measures of its site. */
export const siteMetrics: AddedMetrics = {
  table: { ...BOOK_METRICS, ...VIEW_METRICS },
  async read(queryable: Queryable, name: string) {
    const site = measureOf(name).name
    const measures = ['served', 'seen', 'bots'] as const
    const names = measures.map((measure) => measureName(site, measure))
    const { rows } = await execute(queryable)`SELECT name, views FROM activity_books
      WHERE name IN (${names})`
    const views = new Map(rows.map((row) => [String(row['name']), Number(row['views'])]))
    const viewsOf = (measure: Measure): number => views.get(measureName(site, measure)) ?? 0
    return {
      ...(await bookMetrics.read(queryable, name)),
      served: viewsOf('served'),
      seen: viewsOf('seen'),
      bots: viewsOf('bots'),
    }
  },
}
