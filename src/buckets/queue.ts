/**
 * The queue of a map or an export queue in SQL: keys and values that wait to be processed, each in
 * the bucket of its key's hash. Opens the database, and encodes, checks and inserts what is queued.
 */
import { Connections } from '../connections/connections.js'
import {
  CountingDatabase,
  type ErrorCounts,
  errorsOf,
  isCounting,
} from '../connections/counting.js'
import type { PreparedDatabase } from '../connections/prepared-database.js'
import type { Queryable, Transaction } from '../database/database.js'
import { type Table, table } from '../database/table.js'
import type { Environment } from '../support/environment.js'
import { BurstLogger } from '../support/logger.js'
import { Buckets, type BucketTables } from './buckets.js'
import { Calls } from './calls.js'
import { type Encoded, Encoding, hashOf } from './encoding.js'
import type { QueueSettings } from './options.js'
import { OwnTransactions } from './own-transactions.js'
import { type RunSql, SiteTransactions } from './site-transaction.js'
import { Waiting } from './waiting.js'

/** The names of the tables and of the columns that hold a key and a value. */
export interface QueueTables extends BucketTables {
  readonly key: string
  readonly value: string
}

export class Queue<K, V> {
  readonly tables: QueueTables
  readonly name: string
  readonly connections: Connections
  readonly database: PreparedDatabase
  readonly keys: Encoding<K>
  readonly values: Encoding<V>
  readonly buckets: Buckets
  readonly logger: BurstLogger
  readonly environment: Environment
  /** Errors of its database; `undefined`: another object reports them. */
  readonly errors: ErrorCounts | undefined
  readonly #queued: Table<readonly [id: string, hash: number, key: Buffer, value: Buffer]>
  readonly #transactions: OwnTransactions
  readonly #siteTransactions: SiteTransactions
  readonly #waiting = new Waiting<Encoded>((tx, rows) => this.insert(tx, rows))

  /** @param what the class, for errors. @throws TypeError, RangeError */
  constructor(
    what: string,
    tables: QueueTables,
    settings: QueueSettings<K, V>,
    environment: Environment,
  ) {
    const { name, database, buckets, keyCodec, valueCodec, logger } = settings
    const { queued, owner, key, value } = tables
    this.tables = tables
    this.#queued = table(queued, [owner, 'hash', key, value])
    this.name = name
    this.connections = new Connections(what, name, environment)
    this.database = this.connections.openDatabase(database, ['collision-free-map'], {
      logger,
      through: (opened) => CountingDatabase.of(opened, environment.clock),
    })
    const shown = `${tables.what} "${name}"`
    this.#transactions = new OwnTransactions(this.database.database, shown)
    this.#siteTransactions = new SiteTransactions(this.database, shown, environment)
    this.errors = isCounting(database) ? undefined : errorsOf(this.database.database)
    this.keys = new Encoding('key', keyCodec)
    this.values = new Encoding('value', valueCodec)
    this.buckets = new Buckets(this.database, tables, name, buckets)
    this.logger = new BurstLogger(logger, () => environment.clock.elapsed())
    this.environment = environment
  }

  /** The calls of a function of the user, such as `exporter`. */
  callsOf(name: string, timeoutMs: number): Calls {
    const { environment, logger } = this
    return new Calls({
      what: `${name} of the ${this.tables.what} "${this.name}"`,
      timeoutMs,
      environment,
      logger,
    })
  }

  /** @throws RangeError, TypeError for a key or value that is too long or cannot be encoded */
  encode(key: K, value: V): Encoded {
    const bytes = this.keys.encode(key)
    return { hash: hashOf(bytes), key: bytes, value: this.values.encode(value) }
  }

  /**
   * Has `rows` inserted just before `tx` commits; a function inserts them at once. @throws
   * TypeError, RangeError; DatabaseError
   */
  async add(rows: readonly Encoded[], tx: unknown): Promise<void> {
    if (typeof tx === 'function') {
      const { name: table, columns } = this.#queued
      const values = rows.map(({ hash, key, value }) => [hash, key, value])
      const added = { table, columns, name: this.name, rows: values }
      return this.#siteTransactions.insert(tx as RunSql, added)
    }
    const own = this.own(tx)
    // Mostly at once, so that the end of a transaction that does not wait for it comes after it.
    this.#waiting.add(own instanceof Promise ? await own : own, rows)
  }

  /** Returns `tx`. @throws TypeError unless it is a transaction of the database; DatabaseError */
  own(tx: unknown): Transaction | Promise<Transaction> {
    return this.#transactions.check(tx)
  }

  /** Rows that a transaction has added and not yet inserted; none for a database. */
  addedIn(on: Pick<Queryable, 'query'>): readonly Encoded[] {
    return this.#waiting.of(on)
  }

  /** Inserts `rows` at once. */
  insert(tx: Transaction, rows: readonly Encoded[]): Promise<void> {
    return this.#queued.insert(
      tx,
      rows.map(({ hash, key, value }) => [this.name, hash, key, value]),
    )
  }
}
