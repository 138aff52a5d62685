import type { Database, QueryResult, SqlValue, Transaction } from '../../src/database/database.js'
import type { ErrorClasses } from './errors.js'
import type { Fail, SimulatedDatabaseServer } from './simulated-database-server.js'
import type { SimulatedProcess } from './simulated-process.js'
import type { SimulatedTransaction } from './simulated-transaction.js'

/** Time that the server takes to notice that a client has died. */
const NOTICES_MS = 5000

/** Time after which a client no longer waits for a lost answer, and the server has noticed, too. */
const TIMEOUT_MS = 3000

/** Greatest delay of a request or an answer. */
const LATEST_MS = 2000

/** The chances that the network between a process and its database goes wrong. */
export interface ConnectionFaults {
  readonly requestLost: number
  readonly replyLost: number
  /** A request that is delayed, or an answer that is. */
  readonly delayed: number
}

const NO_FAULTS: ConnectionFaults = { requestLost: 0, replyLost: 0, delayed: 0 }

export interface Connection<Tx extends SimulatedTransaction> {
  readonly server: SimulatedDatabaseServer<Tx>
  readonly begin: () => Tx
  readonly errors: ErrorClasses
  readonly maxStatementBytes: number
  /** @default none */
  readonly faults?: ConnectionFaults
}

/** A process's connection to its database. */
export class SimulatedDatabase<
  Tx extends SimulatedTransaction = SimulatedTransaction,
> implements Database {
  readonly dialect = 'sqlite'
  readonly maxStatementBytes: number
  readonly #process: SimulatedProcess
  readonly #connection: Connection<Tx>
  readonly #server: SimulatedDatabaseServer<Tx>

  constructor(process: SimulatedProcess, connection: Connection<Tx>) {
    this.#process = process
    this.#connection = connection
    this.#server = connection.server
    this.maxStatementBytes = connection.maxStatementBytes
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
    const open = this.#connection.begin()
    const { world } = this.#process
    this.#process.onEnd.push(() => {
      if (open.state === 'open') {
        world.after(world.random.between(0, NOTICES_MS), () => this.#server.rollBack(open))
      }
    })
    const hooks: (() => Promise<void>)[] = []
    let result: T
    try {
      result = await work({
        dialect: this.dialect,
        maxStatementBytes: this.maxStatementBytes,
        query: (sql, parameters = []) => {
          this.sends(open, sql)
          return this.#statement(open, sql, parameters)
        },
        now: () => this.now(),
        beforeCommit: (hook) => void hooks.push(hook),
      })
      for (const hook of hooks) await hook()
    } catch (error) {
      await this.#ask('ROLLBACK', (done) => done(this.#server.rollBack(open)), { faultless: true })
      throw error
    }
    await this.#ask<void>('COMMIT', (done, fail) => this.#server.commit(open, done, fail), {
      tx: open,
      answersApart: true,
    })
    return result
  }

  /** Hears of each statement of a transaction before it is sent. */
  protected sends(_tx: Tx, _sql: string): void {}

  /** Hears of each error before the process does. */
  protected failed(_code: string): void {}

  #statement(tx: Tx | undefined, sql: string, values: readonly SqlValue[]): Promise<QueryResult> {
    return this.#ask(sql, (done, fail) => this.#server.statement(tx, sql, values, done, fail), {
      tx,
    })
  }

  /** `answersApart`: the answer takes its own time, so that the client may die between. */
  #ask<T>(
    what: string,
    handle: (done: (result: T) => void, fail: Fail) => void,
    {
      tx,
      answersApart = false,
      faultless = false,
    }: { tx?: Tx | undefined; answersApart?: boolean; faultless?: boolean } = {},
  ): Promise<T> {
    const { world, name } = this.#process
    const { random } = world
    const shown = `${name} sql ${what.slice(0, 40)}`
    const faults = this.#connection.faults
    const { requestLost, replyLost, delayed } =
      faults && world.faulty && !faultless ? faults : NO_FAULTS
    // What never happens draws no number: so a run without such faults needs none.
    const happens = (chance: number): boolean => chance > 0 && random.chance(chance)
    const takes = (): number =>
      happens(delayed) ? random.between(0, LATEST_MS) : random.between(0, 2)
    return new Promise((resolve, reject) => {
      const failing: Fail = (code, category) => {
        world.note(`${shown}: ${code}`)
        this.failed(code)
        reject(new this.#connection.errors.DatabaseError(code, category, code))
      }
      const lost = (): void => {
        world.after(TIMEOUT_MS, () => {
          if (tx) this.#server.rollBack(tx)
          this.#process.deliver(() => failing('CONNECTION_LOST', 'unreachable'))
        })
      }
      const arrived = (run: () => void): void => this.#process.answer(what, LATEST_MS, run)
      const answer = (run: () => void): void => {
        if (happens(replyLost)) lost()
        else if (answersApart || delayed > 0) world.after(takes(), () => arrived(run))
        else arrived(run)
      }
      if (happens(requestLost)) return lost()
      world.after(takes(), () => {
        world.note(shown)
        handle(
          (result) => answer(() => resolve(result)),
          (code, category) => answer(() => failing(code, category)),
        )
      })
    })
  }
}
