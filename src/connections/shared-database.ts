/**
 * One pool of connections for all objects of a process that name the same database URL: opened with
 * the first of them, and closed with the last. Each object has a share, which it closes. A share
 * passes on each request once.
 */
import { closedError } from '../database/closed.js'
import type { Database, Dialect, QueryResult, SqlValue, Transaction } from '../database/database.js'
import { comesFrom } from '../database/source.js'
import { Lifetime } from '../support/lifetime.js'

interface Opened {
  readonly database: Database
  shares: number
}

/** By URL. A URL holds a password: it is never shown. */
const opened = new Map<string, Opened>()

/**
 * Returns a share of the database at `url`, and opens it with `open` if this process has not yet.
 */
export function sharedDatabase(url: string, open: () => Database): Database {
  const found = opened.get(url) ?? { database: open(), shares: 0 }
  opened.set(url, found)
  found.shares++
  return new Share(found.database, async () => {
    if (--found.shares > 0) return
    opened.delete(url)
    await found.database.close()
  })
}

class Share implements Database {
  readonly #database: Database
  readonly #giveBack: () => Promise<void>
  readonly #lifetime = new Lifetime(closedError)

  constructor(database: Database, giveBack: () => Promise<void>) {
    comesFrom(this, database)
    this.#database = database
    this.#giveBack = giveBack
  }

  get dialect(): Dialect {
    return this.#database.dialect
  }

  get maxStatementBytes(): number {
    return this.#database.maxStatementBytes
  }

  query(sql: string, parameters?: readonly SqlValue[]): Promise<QueryResult> {
    return this.#lifetime.run(() => this.#database.query(sql, parameters))
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#lifetime.run(() => this.#database.transaction(work))
  }

  now(): Promise<number> {
    return this.#lifetime.run(() => this.#database.now())
  }

  migrate(parts?: readonly string[]): Promise<void> {
    return this.#lifetime.run(() => this.#database.migrate(parts))
  }

  close(): Promise<void> {
    return this.#lifetime.close(this.#giveBack)
  }
}
