import { statementsOf } from '../database/bulk.js'
import type { SqlValue, Transaction } from '../database/database.js'
import { insert, upsert } from '../database/dialect.js'
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
  { now, name }: CommitContext,
): Promise<void> {
  const { dialect } = tx
  const pipeline = new Pipeline(tx)
  const seconds = bySecond(visits, now)
  await pipeline.write(
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
  )

  // Noted while the visits are written, piece by piece: all at once would hold up requests.
  const newest = new NewestSeconds()
  await pipeline.write(
    rowsOf(inOrder(seconds), ({ time, visitor, page }) => {
      const createdAt = Math.min(time, now)
      if (visitor) newest.note(visitor, secondOf(createdAt))
      return [name, createdAt, visitor, page]
    }),
    (count) => insert('activities', ['name', 'created_at', 'visitor', 'page'], count),
  )

  await pipeline.write(
    rowsOf(newest.ascending(), ({ visitor, second }) => [name, visitor, second]),
    (count) =>
      upsert(
        dialect,
        'activity_visitors',
        ['name', 'visitor'],
        ['name', 'visitor', 'last_second'],
        { last_second: 'greatest' },
        count,
      ),
  )
  await pipeline.end()
}

/** Sends one statement after the other. Makes the next one while the database is at the last. */
class Pipeline {
  readonly #tx: Transaction
  #underWay: Promise<unknown> = Promise.resolve()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  /** Resolves when all rows have been read and sent. The last statement may be under way then. */
  async write(rows: Iterable<SqlValue[]>, sqlFor: (count: number) => string): Promise<void> {
    const limits = { maxBytes: this.#tx.maxStatementBytes, maxRows: ROWS_A_STATEMENT }
    for (const { sql, values } of statementsOf(rows, sqlFor, limits)) {
      const next = this.#tx.query(sql, values)
      // Of two that fail the first is the one that says why.
      next.catch(() => undefined)
      await this.#underWay
      this.#underWay = next
    }
  }

  /** Resolves when the last statement has been answered. */
  async end(): Promise<void> {
    await this.#underWay
  }
}

function* rowsOf<T>(items: Iterable<T>, valuesOf: (item: T) => SqlValue[]): Generator<SqlValue[]> {
  for (const item of items) yield valuesOf(item)
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1000)
}

type Second = readonly [second: number, visits: Visit[]]

/** Seconds ascending, and what is in them. */
function bySecond(visits: readonly Visit[], now: number): Second[] {
  const seconds = new Map<number, Visit[]>()
  for (const visit of visits) {
    const second = secondOf(Math.min(visit.time, now))
    const others = seconds.get(second)
    if (others) others.push(visit)
    else seconds.set(second, [visit])
  }
  return [...seconds].sort(([a], [b]) => a - b)
}

/** All visits in the order of their times, in which an index takes them best. */
function* inOrder(seconds: readonly Second[]): Generator<Visit> {
  for (const [, visits] of seconds) yield* visits.sort((a, b) => a.time - b.time)
}

interface NewestSecond {
  readonly visitor: Buffer
  readonly second: number
}

/** The newest second of each visitor. */
class NewestSeconds {
  /** By the visitor in Latin-1: there, texts are in the order of their bytes. */
  readonly #visitors = new Map<string, NewestSecond>()

  /** Notes a visit. Seconds come in ascending order. */
  note(visitor: Buffer, second: number): void {
    this.#visitors.set(visitor.toString('latin1'), { visitor, second })
  }

  /**
   * In the order of the visitors, sorted piece by piece: tens of thousands at once would hold up
   * the process's requests.
   */
  *ascending(): Generator<NewestSecond> {
    const keysBy = Array.from({ length: 256 }, (): string[] => [])
    for (const key of this.#visitors.keys()) keysBy[key.charCodeAt(0)]!.push(key)
    for (const keys of keysBy) for (const key of keys.sort()) yield this.#visitors.get(key)!
  }
}
