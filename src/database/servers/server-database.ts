/**
 * A database behind one server or several. Connections are made when needed, come back as if new,
 * and are never used again after an error in a transaction: rolling back is the server's work once
 * the connection is cut, which needs no answer and cannot fail.
 */
import { CLOSE_TIMEOUT_MS, Lifetime } from '../../support/lifetime.js'
import { within } from '../../support/within.js'
import { closedError } from '../closed.js'
import {
  DatabaseError,
  type Database,
  type Dialect,
  type Queryable,
  type QueryResult,
  type SqlValue,
  type Transaction,
} from '../database.js'
import { databaseNow } from '../dialect.js'
import { migrate, migrationsFolder, PARTS, type Migratable } from '../migrations.js'
import { OpenTransaction } from '../open-transaction.js'
import { comesFrom } from '../source.js'
import { condemnsOthers } from './errors.js'
import type { Hosts } from './hosts.js'
import type { ServerSession } from './sessions.js'

/** Parts that differ between the products. */
export interface Product<Session extends ServerSession> {
  readonly dialect: Dialect
  readonly hosts: Hosts<Session>
  /** Runs `work` on the session while no other process may change tables. */
  readonly exclusively: <T>(
    session: Session,
    work: (queryable: Queryable) => Promise<T>,
  ) => Promise<T>
}

export class ServerDatabase<Session extends ServerSession> implements Database, Migratable {
  readonly dialect: Dialect
  readonly #product: Product<Session>
  readonly #lifetime = new Lifetime(closedError)

  constructor(product: Product<Session>) {
    comesFrom(this, this)
    this.dialect = product.dialect
    this.#product = product
  }

  get maxStatementBytes(): number {
    return this.#product.hosts.maxStatementBytes
  }

  /** Whether the server knows `VALUES … AS new`; `false` before it has been reached. */
  get knowsRowAlias(): boolean {
    return this.#product.hosts.knowsRowAlias
  }

  query(sql: string, parameters: readonly SqlValue[] = []): Promise<QueryResult> {
    const { hosts } = this.#product
    return this.#lifetime.run(async () => {
      const session = await hosts.acquire()
      try {
        const result = await session.query(sql, parameters)
        this.#lifetime.track(session.recycle())
        return result
      } catch (error) {
        // A statement alone rolls back alone, so a server that has answered keeps its connection,
        // unless it is the wrong server.
        const useless =
          (error instanceof DatabaseError && error.category === 'unreachable') ||
          condemnsOthers(error)
        if (useless) hosts.end(session, error)
        else this.#lifetime.track(session.recycle())
        throw error
      }
    })
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const { dialect } = this
    return this.#onOneConnection((session) => {
      const { maxStatementBytes } = session
      return session.transaction((ways) => {
        const tx = new OpenTransaction({ dialect, maxStatementBytes, ...ways })
        return comesFrom(tx, this).finish(work)
      })
    })
  }

  now(): Promise<number> {
    return databaseNow(this)
  }

  migrate(
    parts: readonly string[] = PARTS,
    folder = migrationsFolder(this.dialect),
  ): Promise<void> {
    return migrate(this, folder, parts)
  }

  exclusively<T>(work: (queryable: Queryable) => Promise<T>): Promise<T> {
    return this.#onOneConnection((session) => this.#product.exclusively(session, work))
  }

  close(): Promise<void> {
    return this.#lifetime.close(async () => {
      this.#product.hosts.dropSilent()
      await within(CLOSE_TIMEOUT_MS, this.#lifetime.idle())
      await this.#product.hosts.close()
    })
  }

  #onOneConnection<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#lifetime.run(async () => {
      const session = await this.#product.hosts.acquire()
      try {
        const result = await work(session)
        this.#lifetime.track(session.recycle())
        return result
      } catch (error) {
        this.#product.hosts.end(session, error)
        throw error
      }
    })
  }
}
