/** `wide-cache export`: the sums of an activity, as text on stdout. */
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { HOURS_A_DAY } from '../activity/books.js'
import { readHistory, readTop } from '../activity/history.js'
import type { Period, PeriodRange } from '../support/periods.js'
import { exportQuery, hourOf, topQuery, wholeDays } from '../activity/ranges.js'
import type { Database, Queryable } from '../database/database.js'
import { csvRow } from '../support/csv.js'
import type { Logger } from '../support/logger.js'
import { oneOf } from '../support/options.js'
import { readNameSettings } from '../wide-cache/ledger/name-settings.js'
import { activityNamed, dimensionNamed, withActivities } from './activities.js'
import { type ExportOptions, UsageError } from './arguments.js'

/** Hours or days that are read by one statement. */
const PERIODS_A_READ = 1_000

type Row = readonly (string | number | null)[]

/** Data to export: the names of its columns, and its rows. */
interface Table {
  readonly columns: readonly string[]
  readonly rows: AsyncIterable<Row>
}

/** @throws TypeError, RangeError, UsageError for flags that are wrong; what the database throws */
export async function exportSums(
  options: ExportOptions,
  logger: Logger,
  out: Writable,
): Promise<void> {
  // All flags, before anything is opened.
  const format = oneOf('format', options.format ?? 'csv', ['csv', 'ndjson'])
  const read = options.top === undefined ? historyOf(options) : topOf(options, options.top)
  await withActivities(options.database, logger, async (database) => {
    const table = await read(database, await activityNamed(database, options.name))
    const text = format === 'csv' ? asCsv(table) : asLines(table)
    await pipeline(Readable.from(text), out, { end: false }).catch(unlessReaderLeft)
  })
}

type Read = (database: Database, name: string) => Promise<Table>

function historyOf(options: ExportOptions): Read {
  if (options.n !== undefined) throw new UsageError('--n goes with --top')
  const by = oneOf('by', options.by ?? 'day', ['hour', 'day'])
  const { range } = exportQuery({ ...momentsOf(options), by })
  return async (database, name) => ({
    columns: ['start', 'pageViews', 'visitors'],
    rows: history(database, name, by, range),
  })
}

function topOf(options: ExportOptions, dimension: string): Read {
  if (options.by !== undefined) throw new UsageError('--by does not go with --top')
  const { range, n } = topQuery({ ...momentsOf(options), n: options.n })
  return async (database, name) => {
    const known = await dimensionNamed(database, name, 'top', dimension)
    const kept = await keptFrom(database, name)
    const values = await readTop(database, name, known, wholeDays(range, kept), n)
    return {
      columns: ['value', 'pageViews'],
      rows: Readable.from(values.map(({ value, pageViews }): Row => [value, pageViews])),
    }
  }
}

function momentsOf({ from, to }: ExportOptions): { from: string; to: string } {
  if (from === undefined) throw new UsageError('--from is missing')
  if (to === undefined) throw new UsageError('--to is missing')
  return { from, to }
}

/** The first hour of which the values are kept by the hour. */
async function keptFrom(queryable: Queryable, name: string): Promise<number> {
  const days = (await readNameSettings(queryable, name))?.historyDays ?? 0
  return hourOf(await queryable.now()) - HOURS_A_DAY * days
}

async function* history(
  database: Database,
  name: string,
  by: Period,
  { from, to }: PeriodRange,
): AsyncGenerator<Row> {
  for (let at = from; at < to; at += PERIODS_A_READ) {
    const part = { from: at, to: Math.min(at + PERIODS_A_READ, to) }
    for (const { start, pageViews, visitors } of await readHistory(database, name, by, part)) {
      yield [start, pageViews, visitors]
    }
  }
}

async function* asCsv({ columns, rows }: Table): AsyncGenerator<string> {
  yield csvRow(columns)
  for await (const row of rows) yield csvRow(row)
}

async function* asLines({ columns, rows }: Table): AsyncGenerator<string> {
  for await (const row of rows) {
    const record = Object.fromEntries(columns.map((column, index) => [column, row[index]]))
    yield `${JSON.stringify(record)}\n`
  }
}

/** `export … | head` has read what it wants. */
function unlessReaderLeft(error: unknown): void {
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return
  throw error
}
