import { readFileSync } from 'node:fs'
import Libsql from 'libsql'
import type { Database, QueryResult, SqlRow, SqlValue, Transaction } from '../../src/database/database.js'
import type { Heart } from './heart.js'
import type { VirtualProcess } from './process.js'
import type { Scenario } from './scenario.js'
import type { Truth } from './truth.js'
import { EPOCH, type World } from './world.js'

/** The statement with which the caller's `commit` writes its rows: taken out here, so that the checks see it. */
export const INSERT_ROWS = 'INSERT INTO rows'

/** How long a transaction waits for the lock. */
const LOCK_WAIT_MS = 10_000

/** How long the server takes to notice that a client has died. */
const NOTICES_MS = 5000

const TABLES = ['wide_cache_grids', 'wide_cache_watermarks', 'wide_cache_writers', 'wide_cache_frames', 'wide_cache_quarantine']

/** The real SQL engine, with the real schema: one per thread, emptied for each run. */
class Engine {
  readonly #sql = new Libsql(':memory:')
  readonly #statements = new Map<string, ReturnType<Libsql.Database['prepare']>>()

  constructor() {
    this.#sql.exec(readFileSync(new URL('../../sql/sqlite/wide-cache/0001_tables.sql', import.meta.url), 'utf8'))
  }

  clear(): void {
    // A run that has failed may have left one open.
    if (this.#sql.inTransaction) this.#sql.exec('ROLLBACK')
    for (const table of TABLES) this.run(`DELETE FROM ${table}`, [])
  }

  run(sql: string, values: readonly SqlValue[]): QueryResult {
    let statement = this.#statements.get(sql)
    if (!statement) this.#statements.set(sql, statement = this.#sql.prepare(sql))
    if (!isRead(sql)) return { rows: [], affectedRows: statement.run(values).changes }
    const rows = statement.all(values) as Record<string, SqlValue | Uint8Array>[]
    for (const row of rows) {
      for (const column in row) {
        const value = row[column]
        if (value instanceof Uint8Array) row[column] = Buffer.from(value)
        else if ((value as unknown) instanceof ArrayBuffer) row[column] = Buffer.from(value as unknown as ArrayBuffer)
      }
    }
    return { rows: rows as SqlRow[], affectedRows: 0 }
  }
}

/** Engines that no run uses at present: to make one costs more than to empty one. */
const idle: Engine[] = []

function isRead(sql: string): boolean {
  return sql.startsWith('SELECT')
}

/** What a transaction brings beside its SQL. */
export class OpenTransaction {
  readonly process: VirtualProcess
  state: 'open' | 'ended' = 'open'
  readonly rows: number[] = []
  readonly quarantined: Buffer[] = []
  raised = false

  constructor(process: VirtualProcess) {
    this.process = process
  }
}

interface Waiter {
  readonly transaction: OpenTransaction | undefined
  readonly locks: boolean
  /** `undefined`: the wait has been too long. */
  run: (() => void) | undefined
}

/**
 * The database server: transactions lock with their first write and then exclude each other; reads see what
 * is committed. It is away, deadlocks, and loses answers as told.
 */
export class VirtualDatabase {
  awayUntil = 0
  readonly #world: World
  readonly #scenario: Scenario
  readonly #truth: Truth
  readonly #engine: Engine
  #holder: OpenTransaction | undefined
  readonly #waiting: Waiter[] = []

  constructor(world: World, scenario: Scenario, truth: Truth) {
    this.#world = world
    this.#scenario = scenario
    this.#truth = truth
    this.#engine = idle.pop() ?? new Engine()
    this.#engine.clear()
  }

  /** Gives the engine to the next run. */
  close(): void {
    idle.push(this.#engine)
  }

  get away(): boolean {
    return this.#world.now < this.awayUntil
  }

  /** What stands in the tables, for the checks. */
  look(sql: string, values: readonly SqlValue[] = []): readonly SqlRow[] {
    return this.#engine.run(sql, values).rows
  }

  goAway(ms: number): void {
    this.awayUntil = this.#world.now + ms
    if (this.#holder) this.rollBack(this.#holder)
  }

  /** A statement has arrived. */
  statement(tx: OpenTransaction | undefined, sql: string, values: readonly SqlValue[], done: (result: QueryResult) => void, fail: Fail): void {
    const { random } = this.#world
    const fault = this.#truth.faulty && random.chance(this.#scenario.statementFails) ? random.pick(['deadlock', 'lock wait', 'broken'] as const) : undefined
    if (this.away || tx?.state === 'ended' || fault === 'broken') {
      if (tx) this.rollBack(tx)
      return fail('CONNECTION_LOST', 'unreachable')
    }
    if (fault === 'deadlock') {
      if (tx) this.rollBack(tx)
      return fail('ER_LOCK_DEADLOCK', 'lock')
    }
    // As in MySQL, the transaction stays open: whoever goes on with it commits the half of it.
    if (fault === 'lock wait') return fail('ER_LOCK_WAIT_TIMEOUT', 'lock')
    const locks = !isRead(sql)
    const waiter: Waiter = {
      transaction: tx,
      locks,
      run: () => {
        if (tx?.state === 'ended') return fail('CONNECTION_LOST', 'unreachable')
        if (tx && locks && this.#holder !== tx) {
          this.#holder = tx
          this.#engine.run('BEGIN', [])
        }
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
  commit(tx: OpenTransaction, done: () => void, fail: Fail): void {
    const { random } = this.#world
    if (this.away) this.rollBack(tx)
    if (tx.state === 'ended') return fail('CONNECTION_LOST', 'unreachable')
    const unknown = this.#truth.faulty && random.chance(this.#scenario.commitUnknown)
    if (unknown && random.chance(0.5)) {
      this.rollBack(tx)
      return fail('CONNECTION_LOST', 'unreachable')
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

  rollBack(tx: OpenTransaction): void {
    if (tx.state === 'ended') return
    tx.state = 'ended'
    if (this.#holder !== tx) return
    this.#engine.run('ROLLBACK', [])
    this.#release()
  }

  #execute(tx: OpenTransaction | undefined, sql: string, values: readonly SqlValue[], done: (result: QueryResult) => void, fail: Fail): void {
    if (sql === INSERT_ROWS) {
      const ids = values.map(Number)
      if (ids.some((id) => this.#truth.refusedBySql(id))) return fail('ER_DATA_TOO_LONG', 'data')
      tx!.rows.push(...ids)
      return done({ rows: [], affectedRows: ids.length })
    }
    let result: QueryResult
    try {
      result = this.#engine.run(sql, values)
    } catch (error) {
      // SQL that the engine refuses is a bug: none of the faults leads here.
      this.#world.fail(`the database refuses a statement: ${String(error)}: ${sql}`)
      return fail('SQLITE_ERROR', 'data')
    }
    if (tx && sql.startsWith('INSERT INTO wide_cache_quarantine')) {
      const bytes = values[5]
      if (Buffer.isBuffer(bytes)) tx.quarantined.push(bytes)
    }
    if (tx && sql.startsWith('UPDATE wide_cache_watermarks')) tx.raised = true
    if (sql.startsWith('INSERT INTO `wide_cache_watermarks`')) this.#truth.entered(this)
    done(result)
  }

  #mayRun(waiter: Waiter): boolean {
    return this.#holder === undefined || this.#holder === waiter.transaction
  }

  #release(): void {
    this.#holder = undefined
    while (this.#holder === undefined) {
      const next = this.#waiting.shift()
      if (!next) return
      const { run } = next
      next.run = undefined
      run?.()
    }
  }
}

type Fail = (code: string, kind: 'unreachable' | 'lock' | 'data') => void

/** A process's connection to the database. */
export class DatabaseClient implements Database {
  readonly dialect = 'sqlite'
  readonly maxStatementBytes = Infinity
  readonly #process: VirtualProcess
  readonly #world: World
  readonly #server: VirtualDatabase
  readonly #heart: Heart

  constructor(process: VirtualProcess, server: VirtualDatabase, heart: Heart) {
    this.#process = process
    this.#world = process.world
    this.#server = server
    this.#heart = heart
  }

  query(sql: string, parameters: readonly SqlValue[] = []): Promise<QueryResult> {
    return this.#statement(undefined, sql, parameters)
  }

  now(): Promise<number> {
    return this.#ask('now', (done, fail) => (this.#server.away ? fail('CONNECTION_LOST', 'unreachable') : done(EPOCH + this.#world.now)))
  }

  migrate(): Promise<void> {
    return this.now().then(() => undefined)
  }

  async close(): Promise<void> {}

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const open = new OpenTransaction(this.#process)
    this.#process.onEnd.push(() => {
      if (open.state === 'open') this.#world.after(this.#world.random.between(0, NOTICES_MS), () => this.#server.rollBack(open))
    })
    let result: T
    const hooks: (() => Promise<void>)[] = []
    try {
      result = await work({
        dialect: this.dialect,
        maxStatementBytes: this.maxStatementBytes,
        query: (sql, parameters = []) => this.#statement(open, sql, parameters),
        now: () => this.now(),
        beforeCommit: (hook) => void hooks.push(hook),
      })
      for (const hook of hooks) await hook()
    } catch (error) {
      await this.#ask('ROLLBACK', (done) => done(this.#server.rollBack(open)))
      throw error
    }
    await this.#ask<void>('COMMIT', (done, fail) => this.#server.commit(open, done, fail), true)
    return result
  }

  #statement(tx: OpenTransaction | undefined, sql: string, values: readonly SqlValue[]): Promise<QueryResult> {
    return this.#ask(sql, (done, fail) => this.#server.statement(tx, sql, values, done, fail))
  }

  /** `answerApart`: the answer takes its own time, so that the client may die between. */
  #ask<T>(what: string, handle: (done: (result: T) => void, fail: Fail) => void, answerApart = false): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer = (run: () => void) => {
        if (answerApart) this.#world.after(this.#world.random.between(0, 2), () => this.#process.deliver(run))
        else this.#process.deliver(run)
      }
      this.#world.after(this.#world.random.between(0, 2), () => {
        this.#world.note(`${this.#process.name} sql ${what.slice(0, 40)}`)
        handle(
          (result) => answer(() => resolve(result)),
          (code, kind) => answer(() => {
            this.#world.note(`${this.#process.name} sql ${what.slice(0, 40)}: ${code}`)
            reject(new this.#heart.DatabaseError(code, kind, code))
          }))
      })
    })
  }
}
