import type { Database, QueryResult, SqlValue, Transaction } from '../../src/database/database.js'
import { takeBrought } from '../simulation/brought.js'
import type { Heart } from '../simulation/heart.js'
import { SimulatedTransaction } from './simulated-transaction.js'
import type { SimulatedProcess } from './simulated-process.js'
import { keyOf } from '../simulation/records.js'
import {
  type Fail,
  INSERT_ROWS,
  type SimulatedDatabaseServer,
} from './simulated-database-server.js'
import type { World } from './world.js'

/** How long the server takes to notice that a client has died. */
const NOTICES_MS = 5000

/** A process's connection to its database. */
export class SimulatedDatabase implements Database {
  readonly dialect = 'sqlite'
  readonly maxStatementBytes: number
  readonly #process: SimulatedProcess
  readonly #world: World
  readonly #server: SimulatedDatabaseServer
  readonly #heart: Heart

  constructor(process: SimulatedProcess, maxStatementBytes: number, heart: Heart) {
    this.#process = process
    this.#world = process.world
    this.#server = process.site.database
    this.maxStatementBytes = maxStatementBytes
    this.#heart = heart
  }

  query(sql: string, parameters: readonly SqlValue[] = []): Promise<QueryResult> {
    return this.#statement(undefined, sql, parameters)
  }

  now(): Promise<number> {
    return this.#ask('now', (done, fail) =>
      this.#server.away ? fail('CONNECTION_LOST', 'unreachable') : done(this.#server.clock.now),
    )
  }

  migrate(): Promise<void> {
    return this.now().then(() => undefined)
  }

  async close(): Promise<void> {}

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const brought = takeBrought()
    if (brought) {
      brought.process = this.#process
      for (const frame of brought.frames) this.#process.broughtNow.add(keyOf(frame))
    }
    const open = new SimulatedTransaction(this.#process, brought)
    const { toldLost } = this.#process
    this.#process.onEnd.push(() => {
      if (open.state === 'open') {
        this.#world.after(this.#world.random.between(0, NOTICES_MS), () =>
          this.#server.rollBack(open),
        )
      }
    })
    const hooks: (() => Promise<void>)[] = []
    let result: T
    try {
      result = await work({
        dialect: this.dialect,
        maxStatementBytes: this.maxStatementBytes,
        query: (sql, parameters = []) => {
          if (toldLost && sql === INSERT_ROWS) {
            this.#world.fail(
              `${this.#process.name} goes on committing though its commit() commits by itself`,
            )
          }
          return this.#statement(open, sql, parameters)
        },
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

  #statement(
    tx: SimulatedTransaction | undefined,
    sql: string,
    values: readonly SqlValue[],
  ): Promise<QueryResult> {
    return this.#ask(sql, (done, fail) => this.#server.statement(tx, sql, values, done, fail))
  }

  /** `answerApart`: the answer takes its own time, so that the client may die between. */
  #ask<T>(
    what: string,
    handle: (done: (result: T) => void, fail: Fail) => void,
    answerApart = false,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer = (run: () => void) => {
        if (answerApart) {
          this.#world.after(this.#world.random.between(0, 2), () => this.#process.deliver(run))
        } else this.#process.deliver(run)
      }
      this.#world.after(this.#world.random.between(0, 2), () => {
        this.#world.note(`${this.#process.name} sql ${what.slice(0, 40)}`)
        handle(
          (result) => answer(() => resolve(result)),
          (code, kind) =>
            answer(() => {
              this.#world.note(`${this.#process.name} sql ${what.slice(0, 40)}: ${code}`)
              if (code === 'DATABASE_TRANSACTION_LOST') this.#process.toldLost = true
              reject(new this.#heart.DatabaseError(code, kind, code))
            }),
        )
      })
    })
  }
}
