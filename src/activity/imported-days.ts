/**
 * Days from before the first counted one, which an operator imports. They are closed, and never
 * mixed with counted ones: a row of `activity_days` is one or the other.
 */
import type { Queryable, Transaction } from '../database/database.js'
import { execute, numberOrNull, raw, select } from '../database/sql.js'
import { table as tableOf } from '../database/table.js'
import type { Calendar, PeriodRange } from '../support/calendar.js'
import { dayText } from '../support/calendar-days.js'
import { openBooks } from './books.js'
import { DAY_VALUES, VALUES_A_DAY } from './day-closing.js'
import { enterDays } from './days.js'
import { FIRST, firstDayIn } from './first-day.js'
import { PAGE } from './sums.js'

/** Rows of one transaction, about. */
const ROWS_A_PART = 10_000
/** Days that one transaction removes. Each has up to a thousand values. */
const DAYS_A_REMOVAL = 10

const DAYS = tableOf('activity_days', ['name', 'day'], 'views', 'late', 'visitors', 'imported')

/** A day to import. */
export interface DayToImport {
  /** The line of the file that has it first. */
  readonly line: number
  views: number
  /** `null`: not known. */
  readonly visitors: number | null
  /** Views by pages as they are stored; the empty one has those of no listed page. */
  readonly pages: Map<string, number>
}

/** Days to import under an id of the operator's. */
export interface DaysToImport {
  /** Full name of the measure. */
  readonly name: string
  readonly id: string
  /** By their numbers, counted from 1970. */
  readonly days: ReadonlyMap<number, DayToImport>
  readonly calendar: Calendar
  /** The day that has not ended yet. */
  readonly today: number
}

/** Whether days of a range were imported. */
export async function hasImported(
  queryable: Queryable,
  name: string,
  { from, to }: PeriodRange,
): Promise<boolean> {
  const { rows } = await execute(queryable)`SELECT day FROM activity_days WHERE name = ${name}
    AND day >= ${from} AND day < ${to} AND imported IS NOT NULL LIMIT 1`
  return rows.length > 0
}

/** Why a day cannot be imported. */
export class ImportRefusedError extends Error {
  override readonly name = 'ImportRefusedError'
  /** Days that were added before another command imported one of those that follow. */
  added = 0
}

/**
 * Imports what is not imported yet, some days a transaction, each day whole. Closes all days up to
 * the last one first, so that no view is counted on any of them.
 *
 * @param run runs a transaction, and retries it where locks are in the way
 * @returns the number of days that it has added
 * @throws ImportRefusedError, which has the number of days that it had added before
 */
export async function importDays(
  run: <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>,
  toImport: DaysToImport,
): Promise<number> {
  const { days } = toImport
  await run((tx) => begin(tx, toImport))
  let added = 0
  let part: number[] = []
  let rows = 0
  const numbers = [...days.keys()].sort((a, b) => a - b)
  for (const day of numbers) {
    part.push(day)
    rows += 1 + Math.min(VALUES_A_DAY + 1, days.get(day)!.pages.size)
    if (rows < ROWS_A_PART && day !== numbers.at(-1)) continue
    const ofPart = part
    try {
      added += await run((tx) => addPart(tx, toImport, ofPart))
    } catch (error) {
      if (error instanceof ImportRefusedError) error.added = added
      throw error
    }
    part = []
    rows = 0
  }
  return added
}

async function begin(tx: Transaction, toImport: DaysToImport): Promise<void> {
  const { name, days, calendar, today } = toImport
  const books = await openBooks(tx, name)
  const { rows } = await execute(tx)`SELECT ${raw(FIRST)} FROM activity_books AS b
    WHERE b.name = ${name}`
  const first = firstDayIn(rows[0]!, calendar)
  const end = Math.min(first ?? today, today)
  for (const [day, { line }] of days) {
    if (day < end) continue
    throw new ImportRefusedError(
      `line ${line}: ${dayText(day)} ` +
        (day >= today
          ? 'has not ended; allowed: days before '
          : 'was counted here, or a day before it; allowed: days before ') +
        dayText(end),
    )
  }
  await importedAmong(tx, toImport)
  const openDay = Math.max(...days.keys()) + 1
  if (openDay <= books.openDay) return
  await execute(tx)`UPDATE activity_books SET open_day = ${openDay},
    open_hour = ${calendar.firstHour(openDay)} WHERE name = ${name}`
  await enterDays(tx, name, { ...books, calendar, openDay }, [openDay])
}

/** Returns the days that this import has added already. @throws ImportRefusedError */
async function importedAmong(
  tx: Transaction,
  { name, id, days }: DaysToImport,
): Promise<Set<number>> {
  const columns = { day: Number, views: Number, visitors: numberOrNull, imported: String } as const
  const rows = await select(tx, columns)`FROM activity_days WHERE name = ${name}
    AND imported IS NOT NULL`
  for (const { day, views, visitors, imported } of rows) {
    const own = days.get(day)
    if (imported !== id) {
      if (!own) continue
      throw new ImportRefusedError(
        `line ${own.line}: ${dayText(day)} was imported with --id ${imported}; remove that first`,
      )
    }
    if (own?.views === views && own.visitors === visitors) continue
    throw new ImportRefusedError(
      `another file was imported with --id ${id}, which has ${dayText(day)} otherwise; give this ` +
        'one an id of its own, or remove the other first',
    )
  }
  return new Set(rows.filter(({ imported }) => imported === id).map(({ day }) => day))
}

async function addPart(
  tx: Transaction,
  toImport: DaysToImport,
  part: readonly number[],
): Promise<number> {
  const { name, id, days } = toImport
  await openBooks(tx, name)
  // Looked at again under the lock: two commands may import at once.
  const there = await importedAmong(tx, toImport)
  const missing = part.filter((day) => !there.has(day))
  await DAYS.insert(
    tx,
    missing.map((day) => {
      const { views, visitors } = days.get(day)!
      return [name, day, views, 0, visitors, id] as const
    }),
  )
  await DAY_VALUES.insert(
    tx,
    missing.flatMap((day) =>
      listed(days.get(day)!.pages).map(
        ([page, views]) => [name, PAGE, day, Buffer.from(page), views] as const,
      ),
    ),
  )
  return missing.length
}

/** As many pages as a closed day lists, and the sum of the others. */
function listed(pages: ReadonlyMap<string, number>): [page: string, views: number][] {
  const named = [...pages].filter(([page, views]) => page !== '' && views > 0)
  named.sort(([a, more], [b, less]) => less - more || (a < b ? -1 : 1))
  const others = named.splice(VALUES_A_DAY).reduce((sum, [, views]) => sum + views, 0)
  const all = others + (pages.get('') ?? 0)
  return all > 0 ? [...named, ['', all]] : named
}

/** Removes the days of an import. Returns how many there were. The days stay closed. */
export async function removeImport(
  run: <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>,
  name: string,
  id: string,
): Promise<number> {
  let removed = 0
  for (;;) {
    const days = await run(async (tx) => {
      await openBooks(tx, name)
      const rows = await select(tx, { day: Number })`FROM activity_days WHERE name = ${name}
        AND imported = ${id} ORDER BY day LIMIT ${DAYS_A_REMOVAL}`
      const found = rows.map(({ day }) => day)
      if (found.length === 0) return 0
      for (const table of ['activity_day_values', 'activity_days']) {
        await execute(tx)`DELETE FROM ${raw(table)} WHERE name = ${name} AND day IN (${found})`
      }
      return found.length
    })
    if (days === 0) return removed
    removed += days
  }
}
