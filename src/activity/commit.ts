import { setImmediate as turn } from 'node:timers/promises'
import type { SqlValue, Transaction } from '../database/database.js'
import type { Statement } from '../database/dialect.js'
import { type Table, table } from '../database/table.js'
import type { CommitContext } from '../wide-cache/contexts.js'
import { enterViews } from './books.js'
import type { Calendar } from '../support/calendar.js'
import { enterDays } from './days.js'
import { sliceOf, Sums } from './sums.js'
import { HOUR_VALUES } from './dimension-values.js'
import { type HourViews, hoursToCount, limitValues, LISTED_VALUES } from './value-limit.js'
import type { Visit } from './visit.js'

/**
 * Most visits of one transaction. The more share it, the fewer visitors are entered twice, and the
 * longer others wait for its locks.
 */
export const MAX_COMMIT_ROWS = 40_000

/** Rows of one statement: more is hardly faster, and holds up requests while it is made. */
const ROWS_A_STATEMENT = 500

/** Visits sorted by their seconds before the process does other work. */
const PAUSE_ROWS = 5_000

/** Least rows of a {@link Transaction.load}: fewer are sent as fast by an INSERT. */
const LEAST_LOADED = 500

const SECONDS = table(
  'activity_seconds',
  ['name', 'second'],
  ['views', 'add'],
  ['sums_only', 'add'],
)
const HOURS = table('activity_hours', ['name', 'hour'], ['views', 'add'], ['late', 'add'])
const ROWS = table('activities', ['name', 'created_at', 'number'], 'visitor', 'page')
const VISITORS = table(
  'activity_visitors',
  ['name', 'day', 'visitor'],
  ['last_second', 'greatest'],
  ['last_slice', 'greatest'],
  ['first_second', 'least'],
  ['hours', 'or'],
)

/**
 * Brings visits to SQL within the transaction of their frames: the rows, unless only sums are kept,
 * and all sums of them, so that the sums always are what the rows say. Locks in one order, for
 * concurrent transactions and the removal of what is old: the books, then seconds ascending.
 *
 * A visit's time is no later than the database's now, and no earlier than the oldest open day: a
 * closed day never changes, so what comes later counts at the start of the next one. Sums of the
 * window are kept by the second, not by the layer, because grids of different layer lengths fill
 * them.
 */
export async function commitVisits(
  visits: readonly Visit[],
  tx: Transaction,
  { now, name }: CommitContext,
): Promise<void> {
  const books = await enterViews(tx, name, visits.length)
  const { calendar } = books
  // West of UTC, 1970 begins within its last day before.
  const openHour = Math.max(books.openHour, calendar.firstHour(0))
  const openFrom = calendar.startOfHour(openHour)
  const timeOf = ({ time }: Visit): number => Math.max(Math.min(time, now), openFrom)
  const seconds = await bySecond(visits, timeOf)
  // No visit is in an older second.
  const [[oldest, ofOldest] = [0, []]] = seconds
  const isLate = ({ time }: Visit): boolean => Math.min(time, now) < openFrom
  const late = oldest * 1000 === openFrom ? ofOldest.filter(isLate).length : 0
  const days = seconds.map(([second]) => calendar.dayOf(second * 1000))
  await enterDays(tx, name, books, days)
  const statements = new Statements(tx)

  await statements.upsert(
    SECONDS,
    seconds.map(([second, { length }]) => [
      name,
      second,
      length,
      books.keep === 'sums' ? length : 0,
    ]),
  )
  const hours = byHour(seconds, calendar)
  await statements.upsert(
    HOURS,
    hours.map(([hour, views]) => [name, hour, views, hour === openHour ? late : 0]),
  )
  let toCount: readonly HourViews[] = []
  if (visits.length > Math.min(books.room, LISTED_VALUES)) {
    await statements.done()
    toCount = await hoursToCount(
      tx,
      name,
      hours.map(([hour]) => hour),
    )
  }
  const sums = new Sums(calendar)
  const rows = rowsOf(name, seconds, timeOf, books.views, sums)
  if (books.keep === 'sums') await addUp(rows)
  else await statements.insert(ROWS, rows, visits.length)
  await statements.upsert(
    VISITORS,
    mapped(sums.visitors(), ([day, { visitor, first, second, hours }]) => [
      name,
      day,
      visitor,
      second,
      sliceOf(second),
      first,
      hours,
    ]),
  )
  await limitValues(tx, name, toCount, sums)
  await statements.upsert(
    HOUR_VALUES,
    mapped(sums.values(), ([dimension, hour, value, views]) => [
      name,
      dimension,
      hour,
      Buffer.from(value),
      views,
    ]),
  )
  await statements.done()
}

type Row = readonly SqlValue[]

/** Sends statements one after the other. The next one is made while the database is at the last. */
class Statements {
  readonly #tx: Transaction
  #underWay: Promise<unknown> = Promise.resolve()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  /** Sends as many statements as the rows need. The last one may still be under way afterwards. */
  upsert<R extends Row>(table: Table<R>, rows: Iterable<R>): Promise<void> {
    return this.#send(table.upserts(this.#tx, rows, ROWS_A_STATEMENT))
  }

  /**
   * Inserts rows by the fastest way that the database has. All of them have been read then, and the
   * database may still be at the last ones.
   */
  async insert<R extends Row>(table: Table<R>, rows: Iterable<R>, count: number): Promise<void> {
    const { load } = this.#tx
    if (load && count >= LEAST_LOADED) {
      await new Promise<void>((resolve, reject) => {
        this.#next(() => load(table.name, table.columns, withEnd(rows, resolve), count))
          .then(() => this.done())
          .then(resolve, reject)
      })
    } else await this.#send(table.inserts(this.#tx, rows, ROWS_A_STATEMENT))
  }

  /** Resolves when the last statement has been carried out. */
  async done(): Promise<void> {
    await this.#underWay
  }

  async #send(statements: Iterable<Statement>): Promise<void> {
    for (const { sql, values } of statements) await this.#next(() => this.#tx.query(sql, values))
  }

  async #next(send: () => Promise<unknown>): Promise<void> {
    const next = send()
    // Of two that fail the first is the one that says why.
    next.catch(() => undefined)
    await this.#underWay
    this.#underWay = next
  }
}

/** Adds rows up by reading them. Pauses now and then, so that the process serves requests. */
async function addUp(rows: Iterable<unknown>): Promise<void> {
  let read = 0
  for (const _ of rows) if (++read % ROWS_A_STATEMENT === 0) await turn()
}

/** Calls `end` when all rows have been read. */
function* withEnd<T>(rows: Iterable<T>, end: () => void): Generator<T> {
  yield* rows
  end()
}

function* mapped<T, R>(items: Iterable<T>, valuesOf: (item: T) => R): Generator<R> {
  for (const item of items) yield valuesOf(item)
}

type Second = readonly [second: number, visits: Visit[]]

/** Seconds ascending, and what is in them. Pauses now and then. */
async function bySecond(
  visits: readonly Visit[],
  timeOf: (visit: Visit) => number,
): Promise<Second[]> {
  const seconds = new Map<number, Visit[]>()
  for (const [index, visit] of visits.entries()) {
    if (index % PAUSE_ROWS === PAUSE_ROWS - 1) await turn()
    const second = Math.floor(timeOf(visit) / 1000)
    const others = seconds.get(second)
    if (others) others.push(visit)
    else seconds.set(second, [visit])
  }
  return [...seconds].sort(([a], [b]) => a - b)
}

/** The views of each hour, ascending. */
function byHour(seconds: readonly Second[], calendar: Calendar): [hour: number, views: number][] {
  const hours = new Map<number, number>()
  for (const [second, { length }] of seconds) {
    const hour = calendar.hourOf(second * 1000)
    hours.set(hour, (hours.get(hour) ?? 0) + length)
  }
  return [...hours]
}

/**
 * The rows in the order of their times, in which they are stored; adds them up when they are read,
 * while the database is at those before. No two of a name have one number, since the books are
 * locked.
 */
function* rowsOf(
  name: string,
  seconds: readonly Second[],
  timeOf: (visit: Visit) => number,
  number: number,
  sums: Sums,
): Generator<readonly [SqlValue, SqlValue, SqlValue, SqlValue, SqlValue]> {
  for (const [, visits] of seconds) {
    for (const visit of visits.sort((a, b) => a.time - b.time)) {
      const time = timeOf(visit)
      sums.add(visit, time)
      yield [name, time, ++number, visit.visitor, visit.page]
    }
  }
}
