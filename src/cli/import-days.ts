/** `wide-cache import` of days: what a site has counted before it had wide-cache. */
import { readCalendar } from '../activity/days.js'
import {
  type DayToImport,
  importDays as importAll,
  ImportRefusedError,
  removeImport,
} from '../activity/imported-days.js'
import { askedValue, PAGE, storedValue } from '../activity/sums.js'
import { unlocked } from '../connections/unlocked.js'
import type { Database, Transaction } from '../database/database.js'
import { measureName, measureOf } from '../page-views/measures.js'
import { dayIn, dayText } from '../support/calendar-days.js'
import type { CsvRecord } from '../support/csv-records.js'
import { systemEnvironment } from '../support/environment.js'
import { counted } from '../support/printable.js'
import { timeZoneOption, UTC_ZONE } from '../support/time-zone.js'
import { enterTimeZone, readNameSettings } from '../wide-cache/ledger/name-settings.js'
import { UsageError } from './arguments.js'
import { withTables } from './existing.js'
import type { CommandLog } from './log.js'

/** Headers of files of days: by the day, or by its pages. */
export const DAY_HEADERS = ['day,pageViews,visitors', 'day,page,pageViews']

/** Lines of a file, which is held in memory. */
const MAX_LINES = 5_000_000
/** Wrong lines that the log names one by one. */
const MAX_REPORTED = 20

/** What is imported, and where. */
export interface ImportOptions {
  readonly database: string | undefined
  readonly name: string
  readonly id: string
  readonly measure: 'served' | 'seen'
}

/** Returns the exit status. @throws Error, UsageError, DatabaseError */
export async function importDays(
  options: ImportOptions,
  header: string,
  records: AsyncIterable<CsvRecord>,
  log: CommandLog,
): Promise<number> {
  const { id } = options
  const { days, wrong } = await daysIn(header, records, log)
  if (wrong > 0) {
    log.warn(
      `wide-cache: nothing is imported, because ${counted(wrong, 'line')} of the file cannot be`,
    )
    return 1
  }
  if (days.size === 0) throw new Error('the file has no day')
  return withName(options, log, async (run, name, database) => {
    const calendar = await readCalendar(database, options.name)
    const today = calendar.dayOf(await database.now())
    try {
      const added = await importAll(run, { name, id, days, calendar, today })
      const numbers = [...days.keys()].sort((a, b) => a - b)
      const [first, last] = [dayText(numbers[0]!), dayText(numbers.at(-1)!)]
      log.info(
        `wide-cache: the import "${id}" into "${name}" is done, ${counted(days.size, 'day')} ` +
          `from ${first} to ${last}; this run has added ${added}`,
        { days: days.size, added },
      )
      return 0
    } catch (error) {
      if (!(error instanceof ImportRefusedError)) throw error
      const { added, message } = error
      log.warn(
        added > 0
          ? `wide-cache: the import has ended after ${counted(added, 'day')}: ${message}`
          : `wide-cache: nothing is imported: ${message}`,
      )
      return 1
    }
  })
}

/** Removes what was imported under an id. Returns the exit status. */
export async function removeDays(options: ImportOptions, log: CommandLog): Promise<number> {
  return withName(options, log, async (run, name) => {
    const removed = await removeImport(run, name, options.id)
    if (removed === 0) log.warn(`wide-cache: "${name}" has no days of an import "${options.id}"`)
    else log.info(`wide-cache: removed ${counted(removed, 'day')} of the import "${options.id}"`)
    return removed === 0 ? 1 : 0
  })
}

type Run = <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>

async function withName(
  { database: url, name, measure }: ImportOptions,
  log: CommandLog,
  work: (run: Run, name: string, database: Database) => Promise<number>,
): Promise<number> {
  if (measureOf(name).measure !== 'served') throw new UsageError('--name: give --measure instead')
  return withTables(url, log, ['wide-cache', 'activity'], async (database) => {
    const settings = await readNameSettings(database, name)
    if (settings?.kind !== 'activity') {
      throw new UsageError(
        '--name: no process has used it for an activity; start the site once before the import',
      )
    }
    if (!settings.timeZone) {
      // The import is the first use that needs to know when a day begins.
      const { gridName, givenTimeZone } = settings
      const zone = givenTimeZone === '' ? UTC_ZONE : timeZoneOption(givenTimeZone)
      await enterTimeZone(database, gridName, zone)
    }
    const run: Run = (of) => unlocked(systemEnvironment, () => database.transaction(of))
    return work(run, measureName(name, measure), database)
  })
}

/** Reads the whole file, and tells of its first wrong lines. */
async function daysIn(header: string, records: AsyncIterable<CsvRecord>, log: CommandLog) {
  const days = new Map<number, DayToImport>()
  const read = header === DAY_HEADERS[0] ? readDay : readPage
  let [lines, wrong] = [0, 0]
  for await (const { line, content } of records) {
    if (++lines > MAX_LINES) throw new Error(`more than ${MAX_LINES} lines: divide the file`)
    const problem = typeof content === 'string' ? content : read(days, content, line)
    if (problem !== undefined && ++wrong <= MAX_REPORTED) {
      log.warn(`wide-cache: wrong line ${line}: ${problem}`)
    }
  }
  return { days, wrong }
}

/** Returns what is wrong with a record. */
type ReadRecord = (
  days: Map<number, DayToImport>,
  cells: readonly string[],
  line: number,
) => string | undefined

const readDay: ReadRecord = (days, cells, line) => {
  const [day, views, visitors] = [dayOf(cells[0]), numberOf(cells[1]), numberOf(cells[2])]
  const problem =
    shapeOf(cells, day) ?? problemOf(views, 'page views') ?? problemOf(visitors, 'visitors')
  if (problem !== undefined || day === undefined) return problem
  if (visitors! > views!) return 'it has more visitors than page views'
  const known = days.get(day)
  if (known) return `${cells[0]} is on line ${known.line} already`
  days.set(day, { line, views: views!, visitors: visitors!, pages: new Map([['', views!]]) })
  return undefined
}

const readPage: ReadRecord = (days, cells, line) => {
  const [day, text = '', views] = [dayOf(cells[0]), cells[1], numberOf(cells[2])]
  const problem = shapeOf(cells, day) ?? problemOf(views, 'page views')
  if (problem !== undefined || day === undefined) return problem
  if (text === '') return 'the page is empty; allowed: a page as top() shows it, or (other)'
  const known = days.get(day) ?? {
    line,
    views: 0,
    visitors: null,
    pages: new Map<string, number>(),
  }
  const page = storedValue(askedValue(PAGE, text))
  const before = known.pages.get(page)
  // Other texts of one page are added up.
  if (before !== undefined && page === text) return `${cells[0]} has the page twice`
  known.views += views!
  if (!Number.isSafeInteger(known.views)) return 'the day has more than 9007199254740991 page views'
  known.pages.set(page, (before ?? 0) + views!)
  days.set(day, known)
  return undefined
}

function shapeOf(cells: readonly string[], day: number | undefined): string | undefined {
  if (cells.length !== 3) return `it has ${counted(cells.length, 'cell')}, not 3`
  return day === undefined ? 'the day is none such as 2026-05-17' : undefined
}

function dayOf(text = ''): number | undefined {
  const day = dayIn(text) ?? -1
  return day >= 0 ? day : undefined
}

function numberOf(text = ''): number | undefined {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : NaN
  return Number.isSafeInteger(number) ? number : undefined
}

function problemOf(number: number | undefined, what: string): string | undefined {
  if (number !== undefined) return undefined
  return `the ${what} are no whole number from 0 to 9007199254740991`
}
