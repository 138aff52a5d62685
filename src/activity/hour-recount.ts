/**
 * Recounts an hour: the rows of `activities` against the page views, the visitors and the pages
 * that the sums have of it. One statement reads all of them, so that no commit comes in between. An
 * hour is left out in three cases: some of its rows may have been removed by age; some of its
 * visits are kept as sums only; it has more page views than a statement should read.
 */
import type { Database, Dialect, SqlRow } from '../database/database.js'
import { hex } from '../database/dialect.js'
import { HOUR_MS } from '../support/clock.js'
import { counted } from '../support/printable.js'
import { HOURS_A_DAY } from './books.js'
import { MAX_VALUE_BYTES } from './packed-dimensions.js'
import { MAX_RECOUNTED_VIEWS } from './recounted-hours.js'
import { REMOVED_PAGE } from './remove-value.js'
import { PAGE, storedValue } from './sums.js'

/** Pages of an hour that are compared one by one. Of more, the smallest are folded. */
const MAX_PAGES = 10_000

/** The page views of an hour that is recounted. */
const VIEWS =
  'SELECT h.views AS n FROM activity_hours AS h JOIN activity_books AS b ON b.name = h.name ' +
  `WHERE h.name = ? AND h.hour = ? AND h.hour >= b.rows_from AND h.views <= ${MAX_RECOUNTED_VIEWS}`

/** No value is longer, in bytes; a page may be. */
const PAGE_START = `SUBSTR(page, 1, ${MAX_VALUE_BYTES})`

const ROWS = 'FROM activities WHERE name = ? AND created_at >= ? AND created_at < ?'

/** The figures that a recount compares, each with its parameters. The hour counts from 1970. */
function figuresOf(
  dialect: Dialect,
  name: string,
  hour: number,
): [sql: string, ...values: (string | number)[]][] {
  const rows = [name, hour * HOUR_MS, (hour + 1) * HOUR_MS] as const
  const [day, bit] = [Math.floor(hour / HOURS_A_DAY), 1 << (hour % HOURS_A_DAY)]
  return [
    [`SELECT 'views' AS kind, NULL AS value, n FROM (${VIEWS}) AS v`, name, hour],
    [
      "SELECT 'sums only', NULL, SUM(sums_only) FROM activity_seconds " +
        'WHERE name = ? AND second >= ? AND second < ?',
      name,
      (hour * HOUR_MS) / 1000,
      ((hour + 1) * HOUR_MS) / 1000,
    ],
    [`SELECT 'rows', NULL, COUNT(*) ${ROWS}`, ...rows],
    [`SELECT 'visitors of rows', NULL, COUNT(DISTINCT visitor) ${ROWS}`, ...rows],
    [
      "SELECT 'visitors', NULL, COUNT(*) FROM activity_visitors " +
        'WHERE name = ? AND day = ? AND hours & ? <> 0',
      name,
      day,
      bit,
    ],
    [
      `SELECT 'row', page, n FROM (SELECT ${hex(dialect, PAGE_START, 'text')} AS page, ` +
        `COUNT(*) AS n ${ROWS} GROUP BY 1 LIMIT ${MAX_PAGES + 1}) AS p`,
      ...rows,
    ],
    [
      `SELECT 'value', ${hex(dialect, 'value', 'bytes')}, views FROM ` +
        '(SELECT value, views FROM activity_hour_values ' +
        `WHERE name = ? AND dimension = ? AND hour = ? LIMIT ${MAX_PAGES + 1}) AS w`,
      name,
      PAGE,
      hour,
    ],
  ]
}

/**
 * Recounts an hour, counted from 1970.
 *
 * @returns what differs, as the end of a sentence; empty: nothing; `undefined`: it is left out
 */
export async function recountHour(
  database: Database,
  name: string,
  hour: number,
): Promise<string | undefined> {
  // Asked first, because a large hour takes long.
  if ((await database.query(VIEWS, [name, hour])).rows.length === 0) return undefined
  const figures = figuresOf(database.dialect, name, hour)
  const { rows } = await database.query(
    figures.map(([sql]) => sql).join(' UNION ALL '),
    figures.flatMap(([, ...values]) => values),
  )
  const ofKind = (kind: string): SqlRow[] => rows.filter((row) => row['kind'] === kind)
  const number = (kind: string): number => Number(ofKind(kind)[0]?.['n'] ?? 0)
  if (ofKind('views').length === 0 || number('sums only') > 0) return undefined
  const differences = [
    difference('row', number('rows'), 'page view', number('views')),
    difference('visitor', number('visitors of rows'), 'visitor', number('visitors')),
    pagesDifference(viewsByPage(ofKind('row')), viewsByPage(ofKind('value'))),
  ]
  return differences.filter((text) => text !== '').join(', ')
}

function difference(noun: string, rows: number, sumNoun: string, sum: number): string {
  if (rows === sum) return ''
  const found = noun === 'row' ? counted(rows, noun) : `${counted(rows, noun)} in its rows`
  return `${found}, and sums of ${counted(sum, sumNoun)}`
}

/** Pages as the values that they are stored as. As text, MySQL would group `/a` with `/a `. */
function viewsByPage(rows: readonly SqlRow[]): Map<string, number> {
  const views = new Map<string, number>()
  for (const { value, n } of rows) {
    const page = storedValue(Buffer.from(String(value), 'hex').toString())
    views.set(page, (views.get(page) ?? 0) + Number(n))
  }
  return views
}

/**
 * A page may have fewer page views than rows: those that were folded, or removed. It may have more
 * than rows only by rows of a removed page, which came again while its rows were removed.
 */
function pagesDifference(
  rows: ReadonlyMap<string, number>,
  values: ReadonlyMap<string, number>,
): string {
  if (rows.size > MAX_PAGES || values.size > MAX_PAGES) return ''
  let more = 0
  for (const [page, views] of values) {
    if (page !== '') more += Math.max(0, views - (rows.get(page) ?? 0))
  }
  const removed = rows.get(REMOVED_PAGE) ?? 0
  return more > removed ? `${counted(more, 'page view')} of pages without a row` : ''
}
