import type { QueryResult, SqlRow, SqlValue } from '../../src/database/database.js'
import { SimulatedDatabaseClock } from './simulated-database-clock.js'
import type { SimulatedTransaction } from './simulated-transaction.js'
import { SqlEngine } from './sql-engine.js'
import type { World } from './world.js'

/** Time that a statement waits for a lock. */
const LOCK_WAIT_MS = 10_000

/**
 * Time for which the server keeps a transaction whose client is silent: the database adapter sets
 * this limit.
 */
const IDLE_LIMIT_MS = 15_000

/** The chances that a statement or a commit goes wrong at the server, and its limit. */
export interface ServerFaults {
  readonly statementFails: number
  /** A statement that finds its connection cut, without the server having noticed. */
  readonly orphaned: number
  readonly commitUnknown: number
  /** The most bytes of a statement. */
  readonly packetBytes: number
}

interface Waiter<Tx> {
  readonly transaction: Tx | undefined
  readonly locks: readonly string[]
  /** `undefined`: the wait has been too long. */
  run: (() => void) | undefined
}

type Category = 'unreachable' | 'lock' | 'capacity' | 'data' | 'usage'
export type Fail = (code: string, category: Category) => void

/** A statement that the server answers with an error. */
export class Refusal extends Error {
  readonly code: string
  readonly category: Category

  constructor(code: string, category: Category) {
    super(code)
    this.code = code
    this.category = category
  }
}

/**
 * A database server: transactions lock and then exclude each other; reads see what is committed. It
 * is away, deadlocks, loses answers, and keeps the locks of clients that are gone, as told.
 */
export class SimulatedDatabaseServer<Tx extends SimulatedTransaction = SimulatedTransaction> {
  awayUntil = 0
  /** Until then it can be read, and takes no writes. */
  readOnlyUntil = 0
  /** Time at which it last went away. */
  awaySince = 0
  readonly clock: SimulatedDatabaseClock
  protected readonly world: World
  readonly #faults: ServerFaults
  readonly #engine: SqlEngine
  #holder: Tx | undefined
  readonly #waiting: Waiter<Tx>[] = []
  /** The locks of transactions whose clients are gone without the server having noticed. */
  readonly #orphans = new Set<ReadonlySet<string>>()

  /** `part`: the folder of `sql/sqlite/` that has its tables. */
  constructor(world: World, part: string, faults: ServerFaults, name = 'database') {
    this.world = world
    this.#engine = SqlEngine.take(part, name)
    this.#faults = faults
    this.clock = new SimulatedDatabaseClock(world)
  }

  /** Gives the engine to the next run. */
  close(): void {
    this.#engine.giveBack()
  }

  /** Whether a transaction excludes all others. Its client may be held up. */
  get isLocked(): boolean {
    return this.#holder !== undefined
  }

  get away(): boolean {
    return this.world.now < this.awayUntil
  }

  /** No transaction is open: what stands in the tables is committed. */
  get atRest(): boolean {
    return this.#holder === undefined
  }

  /** Reads the tables, for the checks. */
  readonly look = (sql: string, values: readonly SqlValue[] = []): readonly SqlRow[] =>
    this.#engine.run(sql, values).rows

  /** Becomes a copy of another database, as of its last commit. */
  copyFrom(other: SimulatedDatabaseServer<Tx>): void {
    if (other.#holder) other.rollBack(other.#holder)
    this.#engine.copyFrom(other.#engine)
  }

  goAway(ms: number): void {
    if (!this.away) this.awaySince = this.world.now
    this.awayUntil = this.world.now + ms
    if (this.#holder) this.rollBack(this.#holder)
  }

  /** A statement has arrived. */
  statement(
    tx: Tx | undefined,
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
    const locksAll = this.locksAll(sql)
    if (locksAll && this.world.now < this.readOnlyUntil) {
      return fail('ER_OPTION_PREVENTS_STATEMENT', 'capacity')
    }
    if (this.bytesOf(sql, values) > this.#faults.packetBytes) {
      return fail('ER_NET_PACKET_TOO_LARGE', 'data')
    }
    const waiter: Waiter<Tx> = {
      transaction: tx,
      locks: this.locksOf(sql, values),
      run: () => {
        if (tx?.state === 'ended') return fail('CONNECTION_LOST', 'unreachable')
        if (tx && locksAll && this.#holder !== tx) {
          this.#holder = tx
          this.#engine.run('BEGIN', [])
        }
        if (tx) {
          for (const lock of waiter.locks) tx.locked.add(lock)
          this.#endWhenIdle(tx)
        }
        let result: QueryResult
        try {
          result = this.execute(tx, sql, values)
        } catch (error) {
          if (error instanceof Refusal) return fail(error.code, error.category)
          throw error
        }
        done(result)
      },
    }
    if (this.#mayRun(waiter)) return waiter.run!()
    this.#waiting.push(waiter)
    this.world.after(LOCK_WAIT_MS, () => {
      if (!waiter.run) return
      waiter.run = undefined
      fail('ER_LOCK_WAIT_TIMEOUT', 'lock')
    })
  }

  /** Rolls a transaction back whose client, which may be held up, sends nothing for too long. */
  #endWhenIdle(tx: Tx): void {
    const statements = ++tx.statements
    this.world.after(IDLE_LIMIT_MS, () => {
      if (tx.state === 'open' && tx.statements === statements) this.rollBack(tx)
    })
  }

  /** A commit has arrived. */
  commit(tx: Tx, done: () => void, fail: Fail): void {
    const { random } = this.world
    if (this.away) this.rollBack(tx)
    if (tx.state === 'ended') return fail('CONNECTION_LOST', 'unreachable')
    const unknown = this.world.faulty && random.chance(this.#faults.commitUnknown)
    if (tx.lost || (unknown && random.chance(0.5))) {
      this.rollBack(tx)
      return tx.lost
        ? fail('DATABASE_TRANSACTION_LOST', 'usage')
        : fail('CONNECTION_LOST', 'unreachable')
    }
    tx.state = 'ended'
    if (this.#holder === tx) {
      this.#engine.run('COMMIT', [])
      this.committed(tx)
      this.#release()
    }
    if (unknown) fail('CONNECTION_LOST', 'unreachable')
    else done()
  }

  rollBack(tx: Tx): void {
    if (tx.state === 'ended') return
    tx.state = 'ended'
    if (this.#holder !== tx) return
    this.#engine.run('ROLLBACK', [])
    this.#release()
  }

  /** Whether a statement of a transaction excludes all others from then on. As SQLite: any does. */
  protected locksAll(_sql: string): boolean {
    return true
  }

  /** The names of what a statement locks, and an orphan keeps. */
  protected locksOf(_sql: string, _values: readonly SqlValue[]): readonly string[] {
    return ALL
  }

  /** No fewer than a statement has as text, its values in it. */
  protected bytesOf(sql: string, values: readonly SqlValue[]): number {
    let bytes = sql.length
    for (const value of values) {
      bytes += Buffer.isBuffer(value)
        ? 2 * value.length + 3
        : typeof value === 'string'
          ? value.length + 2
          : String(value).length
    }
    return bytes
  }

  /** @throws Refusal */
  protected execute(_tx: Tx | undefined, sql: string, values: readonly SqlValue[]): QueryResult {
    try {
      return this.#engine.run(sql, values)
    } catch (error) {
      // SQL that the engine refuses is a bug: none of the faults leads here.
      this.world.fail(`the database refuses a statement: ${String(error)}: ${sql}`)
      throw new Refusal('SQLITE_ERROR', 'data')
    }
  }

  /** Hears of each transaction that has locked and is committed. */
  protected committed(_tx: Tx): void {}

  /** Commits what has been done so far, and releases the locks. */
  protected commitEarly(tx: Tx): void {
    this.world.note(`the transaction of ${tx.client} is committed before its end`)
    tx.lost = true
    tx.locked.clear()
    this.#engine.run('COMMIT', [])
    this.#release()
  }

  #fault(tx: Tx | undefined): 'deadlock' | 'lock wait' | 'broken' | 'cut' | undefined {
    const { random } = this.world
    if (!this.world.faulty) return undefined
    if (random.chance(this.#faults.statementFails)) {
      return random.pick(['deadlock', 'lock wait', 'broken'] as const)
    }
    return this.#holder !== undefined && this.#holder === tx && random.chance(this.#faults.orphaned)
      ? 'cut'
      : undefined
  }

  /**
   * The client of a transaction is gone, and its locks stay until the server has noticed: nothing
   * of it will ever be committed.
   */
  #orphan(tx: Tx): void {
    const orphan = new Set(tx.locked)
    this.world.note(`the transaction of ${tx.client} is orphaned`)
    this.#orphans.add(orphan)
    this.world.after(IDLE_LIMIT_MS, () => {
      this.#orphans.delete(orphan)
      this.#wake()
    })
    this.rollBack(tx)
  }

  #mayRun({ transaction, locks }: Waiter<Tx>): boolean {
    if (this.#holder !== undefined && this.#holder !== transaction) return false
    for (const orphan of this.#orphans) {
      if (locks.some((lock) => orphan.has(lock))) return false
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

const ALL: readonly string[] = ['all']
