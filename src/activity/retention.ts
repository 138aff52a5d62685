import { listsOf } from '../database/bulk.js'
import {
  type Database,
  DatabaseError,
  type SqlRow,
  type SqlValue,
  type Transaction,
} from '../database/database.js'
import { forUpdate } from '../database/dialect.js'
import { execute, raw } from '../database/sql.js'
import type { RetentionContext } from '../wide-cache/contexts.js'
import { table } from '../database/table.js'
import type { Calendar } from '../support/calendar.js'
import { readDays } from './days.js'
import { keptFrom } from './ranges.js'
import type { ActivityCertificate } from './certificate.js'
import { closeDays } from './day-closing.js'
import { sliceOf } from './sums.js'
import { removeValues } from './dimension-values.js'

/**
 * Amounts removed at a time, small enough not to hold up inserts: rows of one transaction, about,
 * and of one DELETE; seconds of one transaction; visitors.
 */
const ROWS_A_PIECE = 10_000
const ROWS_A_STATEMENT = 5_000
const SECONDS_A_PIECE = 100
const VISITORS_A_PIECE = 2_000

/**
 * Days that values by the hour are kept for longer: a reader goes by the time up to which all is
 * collected, and so asks for hours that are over by the database's clock.
 */
const SLACK_DAYS = 1

/** Page views of an hour whose seconds, rows and visitors have been removed. */
const REMOVED = table('activity_hours', ['name', 'hour'], 'views', 'late', ['removed', 'add'])

/** Times for which rows, values and writers are kept. */
export interface Retention {
  readonly rowsMs: number
  /** Values of dimensions by the hour. */
  readonly valuesDays: number
  /** Seconds after which nothing of a writer that is not heard of can come any more. */
  readonly vanishedSeconds: number
  /** Is not looked for again; the same object at each call. */
  readonly removed?: Removed
}

/** Removes a piece. Resolves with whether there is more. */
type Removal = () => Promise<boolean>

/** What a process has found removed: values before an hour, and visitors before a slice. */
export interface Removed {
  values?: number
  visitors?: number
}

/**
 * Closes the days that are over, and removes what is old: seconds with their rows, visitors of
 * closed days, and values by the hour. Totals stay.
 *
 * What is locked by others is left for the next call. Resolves with whether there is more to
 * remove.
 *
 * @param onCertified hears of each day with page views that has been closed
 * @param mayGoOn is asked before each piece but the first ones; @default until all is removed
 */
export async function removeOldVisits(
  database: Database,
  { now, name }: RetentionContext,
  { rowsMs, valuesDays, vanishedSeconds, removed = {} }: Retention,
  onCertified: (certificate: ActivityCertificate) => void = () => {},
  mayGoOn: () => boolean = () => true,
): Promise<boolean> {
  const closes = await closeDays(database, name, now, vanishedSeconds, onCertified)
  const keepFrom = Math.floor((now - rowsMs) / 1000)
  const { calendar, openHour } = await readDays(database, name)
  const openFrom = calendar.startOfHour(openHour) / 1000
  const before = Math.min(keptFrom(now, valuesDays + SLACK_DAYS, calendar), openHour)
  // A piece of each in turn, so that none waits for what another has more of.
  const seconds = new SecondsRemoval(database, name, keepFrom, calendar)
  let removals: Removal[] = [visitsRemoval(database, name, seconds, openFrom, removed)]
  if (removed.values !== before) {
    removals.push(async () => {
      const areMore = await removeValues(database, name, before)
      if (areMore === false) removed.values = before
      return areMore ?? false
    })
  }
  do {
    const more: Removal[] = []
    for (const remove of removals) if (await remove()) more.push(remove)
    removals = more
  } while (removals.length > 0 && mayGoOn())
  return closes || removals.length > 0
}

/**
 * Removes seconds before `keepFrom` with their rows, and then the visitors who were last seen there
 * and whose day is closed. So an hour of which visitors are gone has removed page views.
 */
function visitsRemoval(
  database: Database,
  name: string,
  seconds: SecondsRemoval,
  openFrom: number,
  removed: Removed,
): Removal {
  const visitors = visitorsRemoval(database, name)
  return async () => {
    const areMore = await seconds.remove()
    const before = sliceOf(Math.min(seconds.removedTo, openFrom))
    if (removed.visitors === before) return areMore
    if (await visitors(before)) return true
    removed.visitors = before
    return areMore
  }
}

/**
 * Removes seconds before `keepFrom`, oldest first, some of them whole in a transaction: their sums
 * and their rows, so that the sums always are what the rows say. Locks the sums first: they keep
 * out those who would add to these seconds meanwhile. Nobody else is in the way: READ COMMITTED
 * locks no gaps, and new rows go elsewhere.
 */
class SecondsRemoval {
  readonly #database: Database
  readonly #name: string
  readonly #keepFrom: number
  readonly #calendar: Calendar
  /** The first second that may have rows. */
  removedTo = 0

  constructor(database: Database, name: string, keepFrom: number, calendar: Calendar) {
    this.#database = database
    this.#name = name
    this.#keepFrom = keepFrom
    this.#calendar = calendar
  }

  async remove(): Promise<boolean> {
    // Not from the first one again: the server still steps over what has just been removed.
    const { rows } = await execute(this.#database)`SELECT second, views FROM activity_seconds
      WHERE name = ${this.#name} AND second >= ${this.removedTo}
      AND second < ${this.#keepFrom} ORDER BY second LIMIT ${SECONDS_A_PIECE}`
    const seconds = firstOf(rows)
    try {
      if (seconds.length > 0) {
        await this.#database.transaction((tx) =>
          removeSeconds(tx, this.#name, seconds, this.#calendar),
        )
      }
    } catch (error) {
      if (error instanceof DatabaseError && error.category === 'lock') return false
      throw error
    }
    const areMore = seconds.length < rows.length || rows.length === SECONDS_A_PIECE
    this.removedTo = areMore ? seconds.at(-1)! + 1 : this.#keepFrom
    return areMore
  }
}

/** The first seconds that have as many rows as a transaction removes; one may have more. */
function firstOf(rows: readonly SqlRow[]): number[] {
  const seconds: number[] = []
  let views = 0
  for (const row of rows) {
    views += Number(row['views'])
    if (seconds.length > 0 && views > ROWS_A_PIECE) break
    seconds.push(Number(row['second']))
  }
  return seconds
}

async function removeSeconds(
  tx: Transaction,
  name: string,
  seconds: readonly number[],
  calendar: Calendar,
): Promise<void> {
  const { rows } = await execute(tx)`SELECT second, views FROM activity_seconds
    WHERE name = ${name} AND second IN (${seconds}) ORDER BY second${raw(forUpdate(tx.dialect))}`
  // One that another collector has removed may be there again by now, with rows that stay.
  const locked = rows.map(({ second }) => Number(second))
  if (locked.length === 0) return
  for (const [first, end] of runsOf(locked)) await removeRows(tx, name, first * 1000, end * 1000)
  await execute(tx)`DELETE FROM activity_seconds WHERE name = ${name} AND second IN (${locked})`
  // Last, so that a commit waits as short as possible.
  const views = new Map<number, number>()
  for (const row of rows) {
    const hour = calendar.hourOf(Number(row['second']) * 1000)
    views.set(hour, (views.get(hour) ?? 0) + Number(row['views']))
  }
  await REMOVED.upsert(
    tx,
    [...views].map(([hour, removed]) => [name, hour, 0, 0, removed]),
  )
}

/**
 * Seconds that follow each other, as [first, end). A second between that has no sum may get one
 * meanwhile, and rows.
 */
function runsOf(seconds: readonly number[]): [first: number, end: number][] {
  const runs: [first: number, end: number][] = []
  for (const second of seconds) {
    const last = runs.at(-1)
    if (last && last[1] === second) last[1] = second + 1
    else runs.push([second, second + 1])
  }
  return runs
}

async function removeRows(tx: Transaction, name: string, from: number, to: number): Promise<void> {
  for (;;) {
    // A DELETE with a LIMIT is MySQL's only; so the time of the first row to stay is asked for.
    const next = await execute(tx)`SELECT created_at FROM activities WHERE name = ${name}
      AND created_at >= ${from} AND created_at < ${to} ORDER BY created_at
      LIMIT 1 OFFSET ${ROWS_A_STATEMENT}`
    const upTo = next.rows[0] ? Math.max(Number(next.rows[0]['created_at']), from + 1) : to
    await execute(tx)`DELETE FROM activities WHERE name = ${name} AND created_at >= ${from}
      AND created_at < ${upTo}`
    if (upTo >= to) return
    from = upTo
  }
}

/**
 * Removes visitors last seen before a slice, by whole slices. Those of open days stay, so no commit
 * is in the way: none changes a visitor of a closed day.
 */
function visitorsRemoval(database: Database, name: string): (before: number) => Promise<boolean> {
  let from = 0
  return async (before) => {
    const { rows } = await execute(database)`SELECT day, visitor, last_slice
      FROM activity_visitors WHERE name = ${name} AND last_slice >= ${from}
      AND last_slice < ${before} ORDER BY last_slice LIMIT ${VISITORS_A_PIECE}`
    const byDay = new Map<number, SqlValue[]>()
    for (const { day, visitor } of rows) {
      const visitors = byDay.get(Number(day)) ?? []
      byDay.set(Number(day), visitors)
      visitors.push(visitor ?? null)
    }
    for (const [day, visitors] of byDay) {
      for (const list of listsOf(visitors, database)) {
        await execute(database)`DELETE FROM activity_visitors WHERE name = ${name}
          AND day = ${day} AND visitor IN (${list})`
      }
    }
    from = Number(rows.at(-1)?.['last_slice'] ?? from)
    return rows.length === VISITORS_A_PIECE
  }
}
