/** `wide-cache export`: the sums of an activity, as text on stdout. */
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ownMeasureOf } from '../activity/dimensions/own-measure.js'
import { readHistory, readTop } from '../activity/history.js'
import { readActivityHistory } from '../activity/activity-history.js'
import { readCalendar } from '../activity/days.js'
import { hasImported } from '../activity/imported-days.js'
import { exportQuery, keptFrom, checkedTop, wholeDays } from '../activity/ranges.js'
import { readActivityTop } from '../activity/activity-top.js'
import { askedValue } from '../activity/sums.js'
import { readValueHistory } from '../activity/value-history.js'
import type {
  ActivityPeriod,
  MeasuredPeriod,
  ValuePeriod,
  ValueViews,
} from '../dashboard/site-figures.js'
import type { Database, Queryable } from '../database/database.js'
import { type Measure, measureName, measureOf } from '../page-views/measures.js'
import { type Calendar, type Period, type PeriodRange, UTC } from '../support/calendar.js'
import { type Cell, csvRow } from '../support/csv.js'
import type { Logger } from '../support/logger.js'
import { oneOf } from '../support/options.js'
import { readNameSettings } from '../wide-cache/ledger/name-settings.js'
import { activityNamed, dimensionNamed, withActivities } from './activities.js'
import { type OptionsOf, UsageError } from './arguments.js'

/** Hours or days that are read by one statement. */
const PERIODS_A_READ = 1_000

type ExportOptions = OptionsOf<'export'>

/** A row to export, by the names of its columns. All have those of the first one. */
type Row = Readonly<Record<string, Cell>>
type Rows = AsyncIterable<Row>

/** @throws TypeError, RangeError, UsageError for flags that are wrong; what the database throws */
export async function exportSums(
  options: ExportOptions,
  logger: Logger,
  out: Writable,
): Promise<void> {
  // All flags, before anything is opened.
  const format = oneOf('format', options.format ?? 'csv', ['csv', 'ndjson'])
  const { top, dimension } = options
  const read =
    top !== undefined
      ? topOf(options, top)
      : dimension !== undefined
        ? valueHistoryOf(options, dimension)
        : historyOf(options)
  await withActivities(options.database, logger, async (database) => {
    const rows = read(database, await activityNamed(database, options.name))
    const text = format === 'csv' ? asCsv(rows) : asLines(rows)
    await pipeline(Readable.from(text), out, { end: false }).catch(unlessReaderLeft)
  })
}

type Read = (database: Database, name: string) => Rows

function historyOf(options: ExportOptions): Read {
  if (options.value !== undefined) throw new UsageError('--value goes with --dimension')
  const { by, rangeIn } = periodsOf(options)
  return async function* (database, name) {
    const { name: site, measure } = measureOf(name)
    yield* history(database, name, by, await rangeIn(database, name), (part) =>
      isOfNoPeople(measure)
        ? readHistory(database, name, by, part)
        : readActivityHistory(database, { name: site, count: measure }, by, part),
    )
  }
}

function valueHistoryOf(options: ExportOptions, dimension: string): Read {
  if (!options.value) throw new UsageError('--value is missing')
  const { by, rangeIn } = periodsOf(options)
  const value = askedValue(dimension, options.value)
  return async function* (database, asked) {
    const { name, known } = await placeOf(database, asked, 'dimension', dimension)
    yield* history(database, name, by, await rangeIn(database, name), (part) =>
      readValueHistory(database, name, by, part, { dimension: known, value }),
    )
  }
}

/** Hours or days to export, and how the range of a name is found. */
function periodsOf(options: ExportOptions) {
  if (options.n !== undefined) throw new UsageError('--n goes with --top')
  const by = oneOf('by', options.by ?? 'day', ['hour', 'day'])
  const query = { ...momentsOf(options), by }
  exportQuery(query, UTC)
  const rangeIn = async (database: Database, name: string): Promise<PeriodRange> =>
    exportQuery(query, await readCalendar(database, name)).range
  return { by, rangeIn }
}

function topOf(options: ExportOptions, dimension: string): Read {
  for (const flag of ['by', 'dimension', 'value'] as const) {
    if (options[flag] !== undefined) throw new UsageError(`--${flag} does not go with --top`)
  }
  const query = { ...momentsOf(options), n: options.n }
  checkedTop(query, UTC)
  return async function* (database, asked) {
    const { name, known } = await placeOf(database, asked, 'top', dimension)
    const calendar = await readCalendar(database, name)
    const { range, n } = checkedTop(query, calendar)
    const hours = wholeDays(range, await keptFromOf(database, name, calendar), calendar)
    const { name: site, measure } = measureOf(name)
    const values = isOfNoPeople(measure)
      ? await readTop(database, name, known, hours, { n })
      : await readActivityTop(database, { name: site, count: measure }, known, hours, { n })
    yield* withSameColumns(values)
  }
}

/** The name that has the values of a dimension, and what the dimension is called there. */
async function placeOf(
  database: Database,
  asked: string,
  flag: string,
  dimension: string,
): Promise<{ name: string; known: string }> {
  const own = ownMeasureOf(dimension)
  const { name: site } = measureOf(asked)
  const name = own ? await activityNamed(database, measureName(site, own.measure)) : asked
  return { name, known: await dimensionNamed(database, name, flag, own?.dimension ?? dimension) }
}

/** Whether a measure is none of people's views. */
function isOfNoPeople(measure: Measure): measure is 'bots' | 'gone' {
  return measure === 'bots' || measure === 'gone'
}

/** Where views of the other measure are known of some values only, others have an empty cell. */
function withSameColumns(values: readonly ValueViews[]): Row[] {
  const other = (['seen', 'served'] as const).find((field) =>
    values.some((value) => value[field] !== undefined),
  )
  return values.map(({ value, pageViews, ...others }) => ({
    value,
    pageViews,
    ...(other && { [other]: others[other] ?? null }),
  }))
}

function momentsOf({ from, to }: ExportOptions): { from: string; to: string } {
  if (from === undefined) throw new UsageError('--from is missing')
  if (to === undefined) throw new UsageError('--to is missing')
  return { from, to }
}

/** The first hour whose values are kept by the hour. */
async function keptFromOf(queryable: Queryable, name: string, calendar: Calendar): Promise<number> {
  const days = (await readNameSettings(queryable, name))?.historyDays ?? 0
  return keptFrom(await queryable.now(), days, calendar)
}

async function* history(
  database: Database,
  name: string,
  by: Period,
  { from, to }: PeriodRange,
  read: (part: PeriodRange) => Promise<(MeasuredPeriod | ActivityPeriod | ValuePeriod)[]>,
): AsyncGenerator<Row> {
  // All rows have the columns of the first one.
  const marks = by === 'day' && (await hasImported(database, name, { from, to }))
  for (let at = from; at < to; at += PERIODS_A_READ) {
    const part = { from: at, to: Math.min(at + PERIODS_A_READ, to) }
    for (const { imported, ...period } of await read(part)) {
      yield { ...period, ...(marks && { imported: imported ?? null }) }
    }
  }
}

async function* asCsv(rows: Rows): AsyncGenerator<string> {
  let columns: readonly string[] | undefined
  for await (const row of rows) {
    if (!columns) yield csvRow((columns = Object.keys(row)))
    yield csvRow(columns.map((column) => row[column] ?? null))
  }
  // Only a range without values has no rows.
  if (!columns) yield csvRow(['value', 'pageViews'])
}

async function* asLines(rows: Rows): AsyncGenerator<string> {
  for await (const row of rows) yield `${JSON.stringify(row)}\n`
}

/** Ignores that the reader of a pipe has ended, as in `export … | head`. */
function unlessReaderLeft(error: unknown): void {
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return
  throw error
}
