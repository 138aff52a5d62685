import { statementsOf } from '../database/bulk.js'
import type { SqlValue, Transaction } from '../database/database.js'
import { insert, type Statement, upsert } from '../database/dialect.js'
import type { CommitContext } from '../wide-cache/options.js'
import type { Visit } from './visit.js'

/**
 * The more visits share a transaction, the fewer visitors are entered twice, and the longer others
 * wait for its locks.
 */
export const MAX_COMMIT_ROWS = 40_000

/** Rows of one statement: more is hardly faster. */
const ROWS_A_STATEMENT = 1_000

/**
 * Brings visits to SQL within the transaction of their frames: the views of their seconds, the
 * rows, and the newest second of each visitor, so that the sums always are what the rows say. Locks
 * in one order, for concurrent transactions and {@link removeOldVisits}: seconds ascending, then
 * visitors ascending.
 *
 * A visit's second is that of its `created_at`, which is its time but no later than the database's
 * now. Sums are kept by the second, not by the layer, because grids of different layer lengths fill
 * them.
 */
export async function commitVisits(
  visits: readonly Visit[],
  tx: Transaction,
  context: CommitContext,
): Promise<void> {
  let underWay: Promise<unknown> = Promise.resolve()
  // The next statement is made while the database is at the last.
  for (const { sql, values } of statements(visits, tx, context)) {
    const next = tx.query(sql, values)
    // Of two that fail the first is the one that says why.
    next.catch(() => undefined)
    await underWay
    underWay = next
  }
  await underWay
}

function* statements(
  visits: readonly Visit[],
  { dialect, maxStatementBytes }: Transaction,
  { now, name }: CommitContext,
): Generator<Statement> {
  const limits = { maxBytes: maxStatementBytes, maxRows: ROWS_A_STATEMENT }
  const seconds = bySecond(visits, now)
  yield* statementsOf(
    rowsOf(seconds, ([second, { length }]) => [name, second, length]),
    (count) =>
      upsert(
        dialect,
        'activity_seconds',
        ['name', 'second'],
        ['name', 'second', 'views'],
        { views: 'add' },
        count,
      ),
    limits,
  )

  const visitors = new Map<string, { visitor: Buffer; second: number }>()
  yield* statementsOf(
    rowsOf(inOrder(seconds, visitors), ({ time, visitor, page }) => [
      name,
      Math.min(time, now),
      visitor,
      page,
    ]),
    (count) => insert('activities', ['name', 'created_at', 'visitor', 'page'], count),
    limits,
  )

  yield* statementsOf(
    rowsOf(ascending(visitors), ({ visitor, second }) => [name, visitor, second]),
    (count) =>
      upsert(
        dialect,
        'activity_visitors',
        ['name', 'visitor'],
        ['name', 'visitor', 'last_second'],
        { last_second: 'greatest' },
        count,
      ),
    limits,
  )
}

function* rowsOf<T>(items: Iterable<T>, valuesOf: (item: T) => SqlValue[]): Generator<SqlValue[]> {
  for (const item of items) yield valuesOf(item)
}

type Second = readonly [second: number, visits: Visit[]]

/** Seconds ascending, and what is in them. */
function bySecond(visits: readonly Visit[], now: number): Second[] {
  const seconds = new Map<number, Visit[]>()
  for (const visit of visits) {
    const second = Math.floor(Math.min(visit.time, now) / 1000)
    const others = seconds.get(second)
    if (others) others.push(visit)
    else seconds.set(second, [visit])
  }
  return [...seconds].sort(([a], [b]) => a - b)
}

/**
 * All visits in the order of their times, in which an index takes them best; enters the newest
 * second of their visitors in `visitors`.
 */
function* inOrder(
  seconds: readonly Second[],
  visitors: Map<string, { visitor: Buffer; second: number }>,
): Generator<Visit> {
  for (const [second, visits] of seconds) {
    for (const visit of visits.sort((a, b) => a.time - b.time)) {
      // In Latin-1, texts are in the order of their bytes.
      if (visit.visitor) {
        visitors.set(visit.visitor.toString('latin1'), { visitor: visit.visitor, second })
      }
      yield visit
    }
  }
}

/**
 * What `items` has, in the order of the keys, sorted piece by piece: tens of thousands at once
 * would hold up the process's requests.
 */
function* ascending<T>(items: ReadonlyMap<string, T>): Generator<T> {
  const keysBy = Array.from({ length: 256 }, (): string[] => [])
  for (const key of items.keys()) keysBy[key.charCodeAt(0)]!.push(key)
  for (const keys of keysBy) for (const key of keys.sort()) yield items.get(key)!
}
