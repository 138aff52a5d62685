import { readFileSync } from 'node:fs'
import Libsql from 'libsql'
import type {
  Database,
  QueryResult,
  SqlRow,
  SqlValue,
  Transaction,
} from '../../src/database/database.js'
import type { World } from '../simulated-world/world.js'
import type { Loaded, Scenario } from './simulate.js'
import type { SimulatedProcess } from './simulated-process.js'

const SCHEMA = readFileSync(
  new URL('../../sql/sqlite/sequence/0001_tables.sql', import.meta.url),
  'utf8',
)
/** How long a transaction may take; a client waits twice as long for an answer. */
const TIMEOUT_MS = 3_000
const LATEST_MS = 2_000

/**
 * The one database: the real statements on the real schema, one transaction or statement after the
 * other.
 */
export class SimulatedServerOfSql {
  downUntil = 0
  readonly #sql = new Libsql(':memory:')
  readonly #statements = new Map<string, ReturnType<Libsql.Database['prepare']>>()
  #last: Promise<void> = Promise.resolve()

  constructor() {
    this.#sql.exec(SCHEMA)
  }

  run(sql: string, values: readonly SqlValue[] = []): QueryResult {
    let statement = this.#statements.get(sql)
    if (!statement) this.#statements.set(sql, (statement = this.#sql.prepare(sql)))
    if (!sql.startsWith('SELECT')) return { rows: [], affectedRows: statement.run(values).changes }
    const rows = statement.all(values) as Record<string, unknown>[]
    for (const row of rows) for (const column in row) row[column] = plain(row[column])
    return { rows: rows as SqlRow[], affectedRows: 0 }
  }

  /** Resolves, when its turn has come, with what ends the turn. */
  turn(): Promise<() => void> {
    return new Promise((begin) => {
      this.#last = this.#last.then(() => new Promise<void>((end) => begin(end)))
    })
  }

  close(): void {
    this.#sql.close()
  }
}

function plain(value: unknown): unknown {
  return value instanceof Uint8Array || value instanceof ArrayBuffer
    ? Buffer.from(value as Uint8Array)
    : value
}

/** A process's use of it, over a network that loses and delays. */
export class SimulatedDatabase implements Database {
  readonly dialect = 'sqlite'
  readonly maxStatementBytes = Infinity
  readonly #process: SimulatedProcess
  readonly #world: World
  readonly #server: SimulatedServerOfSql
  readonly #scenario: Scenario
  readonly #loaded: Loaded

  constructor(
    process: SimulatedProcess,
    server: SimulatedServerOfSql,
    scenario: Scenario,
    loaded: Loaded,
  ) {
    this.#process = process
    this.#world = process.world
    this.#server = server
    this.#scenario = scenario
    this.#loaded = loaded
  }

  query(sql: string, values: readonly SqlValue[] = []): Promise<QueryResult> {
    return this.#ask(async () => {
      const end = await this.#server.turn()
      try {
        return this.#server.run(sql, values)
      } finally {
        end()
      }
    })
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const session = await this.#ask((client) => this.#begin(client))
    const statement = (sql: string, values: readonly SqlValue[] = []) =>
      this.#ask(async () => {
        if (session.over) throw this.#unreachable()
        return this.#server.run(sql, values)
      })
    try {
      const unused = (): never => {
        throw new Error('unused')
      }
      const result = await work({
        dialect: 'sqlite',
        maxStatementBytes: Infinity,
        query: statement,
        now: unused,
        beforeCommit: unused,
      })
      await this.#ask(async () => {
        if (session.over) throw this.#unreachable()
        session.finish('COMMIT')
      })
      return result
    } catch (error) {
      session.finish('ROLLBACK')
      throw error
    }
  }

  now(): Promise<number> {
    return Promise.reject(new Error('a sequence does not ask the database for the time'))
  }

  async migrate(): Promise<void> {}
  async close(): Promise<void> {}

  async #begin(client: { gone: boolean }) {
    const end = await this.#server.turn()
    if (client.gone) {
      end()
      throw this.#unreachable()
    }
    this.#server.run('BEGIN')
    const session = {
      over: false,
      finish: (how: 'COMMIT' | 'ROLLBACK'): void => {
        if (session.over) return
        session.over = true
        this.#server.run(how)
        end()
      },
    }
    // A client that has died, or has given up, is noticed.
    this.#world.after(TIMEOUT_MS, () => session.finish('ROLLBACK'))
    return session
  }

  #ask<T>(execute: (client: { gone: boolean }) => Promise<T>): Promise<T> {
    const { random } = this.#world
    const { databaseLoses, databaseSlow } = this.#scenario
    const way = () =>
      random.chance(databaseSlow) ? random.between(0, LATEST_MS) : random.between(0, 10)
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => this.#process.deliver(() => reject(error as Error))
      if (this.#world.now < this.#server.downUntil) {
        this.#world.after(1, () => fail(this.#unreachable()))
        return
      }
      const client = { gone: false }
      const timeout = this.#world.after(2 * TIMEOUT_MS, () => {
        client.gone = true
        fail(this.#unreachable())
      })
      if (random.chance(databaseLoses)) return
      this.#world.after(way(), () => {
        execute(client).then(
          (answer) =>
            random.chance(databaseLoses) ||
            this.#world.after(way(), () => {
              timeout()
              this.#process.deliver(() => resolve(answer))
            }),
          (error: unknown) => {
            timeout()
            fail(error)
          },
        )
      })
    })
  }

  #unreachable(): Error {
    return new this.#loaded.DatabaseError(
      'ECONNREFUSED',
      'unreachable',
      'no answer of the database in the simulation',
    )
  }
}
