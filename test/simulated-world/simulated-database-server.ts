import type { QueryResult, SqlRow, SqlValue } from '../../src/database/database.js'
import { SimulatedDatabaseClock } from './simulated-database-clock.js'
import { SqlEngine } from './sql-engine.js'
import type { SimulatedTransaction, Orphan } from './simulated-transaction.js'
import type { Scenario } from '../simulation/scenario.js'
import {
  changesId,
  entersGrid,
  isRead,
  locksGrids,
  quarantinedBy,
  raises,
  writersLockedBy,
} from '../simulation/schema.js'
import type { Truth } from '../simulation/truth.js'
import type { World } from './world.js'

/**
 * The statement with which the caller's `commit` writes its rows: taken out here, so that the
 * checks see it.
 */
export const INSERT_ROWS = 'INSERT INTO rows'

/**
 * A statement of the caller's `commit` that commits by itself and begins a new transaction, as
 * `COMMIT AND CHAIN` does.
 */
export const COMMIT_AND_CHAIN = 'COMMIT AND CHAIN'

/** How long a statement waits for a lock. */
const LOCK_WAIT_MS = 10_000

/**
 * How long the server keeps a transaction whose client is silent: the database adapter sets this
 * limit.
 */
const IDLE_LIMIT_MS = 15_000

interface Waiter {
  readonly transaction: SimulatedTransaction | undefined
  readonly writers: readonly string[]
  readonly grids: boolean
  /** `undefined`: the wait has been too long. */
  run: (() => void) | undefined
}

export type Fail = (code: string, kind: 'unreachable' | 'lock' | 'data' | 'usage') => void

/**
 * The database server: transactions lock with their first write and then exclude each other; reads
 * see what is committed. It is away, deadlocks, loses answers, and keeps the locks of clients that
 * are gone, as told.
 */
export class SimulatedDatabaseServer {
  awayUntil = 0
  readonly clock: SimulatedDatabaseClock
  readonly #world: World
  readonly #scenario: Scenario
  readonly #truth: Truth
  readonly #engine = SqlEngine.take()
  #holder: SimulatedTransaction | undefined
  readonly #waiting: Waiter[] = []
  readonly #orphans = new Set<Orphan>()

  constructor(world: World, scenario: Scenario, truth: Truth) {
    this.#world = world
    this.#scenario = scenario
    this.#truth = truth
    this.clock = new SimulatedDatabaseClock(world)
  }

  /** Gives the engine to the next run. */
  close(): void {
    this.#engine.giveBack()
  }

  get away(): boolean {
    return this.#world.now < this.awayUntil
  }

  /** No transaction is open: what stands in the tables is committed. */
  get atRest(): boolean {
    return this.#holder === undefined
  }

  /** What stands in the tables, for the checks. */
  readonly look = (sql: string, values: readonly SqlValue[] = []): readonly SqlRow[] =>
    this.#engine.run(sql, values).rows

  /** Becomes a copy of another database, as of its last commit. */
  copyFrom(other: SimulatedDatabaseServer): void {
    if (other.#holder) other.rollBack(other.#holder)
    this.#engine.copyFrom(other.#engine)
  }

  goAway(ms: number): void {
    this.awayUntil = this.#world.now + ms
    if (this.#holder) this.rollBack(this.#holder)
  }

  /** A statement has arrived. */
  statement(
    tx: SimulatedTransaction | undefined,
    sql: string,
    values: readonly SqlValue[],
    done: (result: QueryResult) => void,
    fail: Fail,
  ): void {
    const fault = this.#fault(tx)
    if (this.away || tx?.state === 'ended' || fault === 'broken') {
      if (tx) this.rollBack(tx)
      return fail('CONNECTION_LOST', 'unreachable')
    }
    if (fault === 'cut') {
      this.#orphan(tx!)
      return fail('CONNECTION_LOST', 'unreachable')
    }
    if (fault === 'deadlock') {
      if (tx) this.rollBack(tx)
      return fail('ER_LOCK_DEADLOCK', 'lock')
    }
    // As in MySQL, the transaction stays open: to go on with it would commit half of it.
    if (fault === 'lock wait') return fail('ER_LOCK_WAIT_TIMEOUT', 'lock')
    if (bytesOf(sql, values) > this.#scenario.packetBytes) {
      return fail('ER_NET_PACKET_TOO_LARGE', 'data')
    }
    const locks = !isRead(sql)
    const waiter: Waiter = {
      transaction: tx,
      writers: writersLockedBy(sql, values),
      grids: locksGrids(sql),
      run: () => {
        if (tx?.state === 'ended') return fail('CONNECTION_LOST', 'unreachable')
        if (tx && locks && this.#holder !== tx) {
          this.#holder = tx
          this.#engine.run('BEGIN', [])
        }
        if (tx) for (const writer of waiter.writers) tx.writers.add(writer)
        if (tx && waiter.grids) tx.grids = true
        this.#execute(tx, sql, values, done, fail)
      },
    }
    if (this.#mayRun(waiter)) return waiter.run!()
    this.#waiting.push(waiter)
    this.#world.after(LOCK_WAIT_MS, () => {
      if (!waiter.run) return
      waiter.run = undefined
      fail('ER_LOCK_WAIT_TIMEOUT', 'lock')
    })
  }

  /** A commit has arrived. */
  commit(tx: SimulatedTransaction, done: () => void, fail: Fail): void {
    const { random } = this.#world
    if (this.away) this.rollBack(tx)
    if (tx.state === 'ended') return fail('CONNECTION_LOST', 'unreachable')
    const unknown = this.#world.faulty && random.chance(this.#scenario.commitUnknown)
    if (tx.lost || (unknown && random.chance(0.5))) {
      this.rollBack(tx)
      return tx.lost
        ? fail('DATABASE_TRANSACTION_LOST', 'usage')
        : fail('CONNECTION_LOST', 'unreachable')
    }
    tx.state = 'ended'
    if (this.#holder === tx) {
      this.#engine.run('COMMIT', [])
      this.#truth.committed(tx, this)
      this.#release()
    }
    if (unknown) fail('CONNECTION_LOST', 'unreachable')
    else done()
  }

  rollBack(tx: SimulatedTransaction): void {
    if (tx.state === 'ended') return
    tx.state = 'ended'
    if (this.#holder !== tx) return
    this.#engine.run('ROLLBACK', [])
    this.#release()
  }

  #fault(
    tx: SimulatedTransaction | undefined,
  ): 'deadlock' | 'lock wait' | 'broken' | 'cut' | undefined {
    const { random } = this.#world
    if (!this.#world.faulty) return undefined
    if (random.chance(this.#scenario.statementFails)) {
      return random.pick(['deadlock', 'lock wait', 'broken'] as const)
    }
    return this.#holder !== undefined &&
      this.#holder === tx &&
      random.chance(this.#scenario.orphaned)
      ? 'cut'
      : undefined
  }

  /**
   * The client of a transaction is gone, and its locks stay until the server has noticed: nothing
   * of it will ever be committed.
   */
  #orphan(tx: SimulatedTransaction): void {
    const orphan: Orphan = { writers: new Set(tx.writers), grids: tx.grids }
    this.#world.note(`the transaction of ${tx.process.name} is orphaned`)
    this.#orphans.add(orphan)
    this.#world.after(IDLE_LIMIT_MS, () => {
      this.#orphans.delete(orphan)
      this.#wake()
    })
    this.rollBack(tx)
  }

  #execute(
    tx: SimulatedTransaction | undefined,
    sql: string,
    values: readonly SqlValue[],
    done: (result: QueryResult) => void,
    fail: Fail,
  ): void {
    if (sql === INSERT_ROWS) {
      const ids = values.map(Number)
      if (ids.some((id) => this.#truth.refusedBySql(id))) return fail('ER_DATA_TOO_LONG', 'data')
      tx!.rows.push(...ids)
      return done({ rows: [], affectedRows: ids.length })
    }
    if (sql === COMMIT_AND_CHAIN) {
      this.#chain(tx!)
      return done({ rows: [], affectedRows: 0 })
    }
    let result: QueryResult
    try {
      result = this.#engine.run(sql, values)
    } catch (error) {
      // SQL that the engine refuses is a bug: none of the faults leads here.
      this.#world.fail(`the database refuses a statement: ${String(error)}: ${sql}`)
      return fail('SQLITE_ERROR', 'data')
    }
    const piece = tx && quarantinedBy(sql, values)
    if (piece) tx.quarantined.push(piece)
    if (tx && raises(sql)) tx.raised = true
    if (entersGrid(sql)) this.#truth.entered(this)
    if (changesId(sql)) this.#truth.hasParted()
    done(result)
  }

  /** What has been done so far is committed, and the locks are gone. */
  #chain(tx: SimulatedTransaction): void {
    this.#world.note(`the transaction of ${tx.process.name} is committed before its end`)
    tx.lost = true
    this.#truth.committedBeside(tx)
    tx.rows = []
    tx.writers.clear()
    this.#engine.run('COMMIT', [])
    this.#release()
  }

  #mayRun({ transaction, writers, grids }: Waiter): boolean {
    if (this.#holder !== undefined && this.#holder !== transaction) return false
    for (const orphan of this.#orphans) {
      if ((grids && orphan.grids) || writers.some((writer) => orphan.writers.has(writer))) {
        return false
      }
    }
    return true
  }

  #release(): void {
    this.#holder = undefined
    this.#wake()
  }

  /** Lets those run that need not wait any more, in the order in which they came. */
  #wake(): void {
    for (let index = 0; index < this.#waiting.length;) {
      const next = this.#waiting[index]!
      if (next.run && !this.#mayRun(next)) {
        index++
        continue
      }
      this.#waiting.splice(index, 1)
      const { run } = next
      next.run = undefined
      run?.()
      // It may have set others free, or taken the lock.
      index = 0
    }
  }
}

/** No fewer than a statement has as text, its values in it. */
function bytesOf(sql: string, values: readonly SqlValue[]): number {
  let bytes = sql === INSERT_ROWS ? 0 : sql.length
  for (const value of values) {
    bytes += Buffer.isBuffer(value)
      ? 2 * value.length + 3
      : typeof value === 'string'
        ? value.length + 2
        : String(value).length
  }
  return bytes
}
