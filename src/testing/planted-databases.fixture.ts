/** What the planted databases have in common. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type {
  Database,
  Queryable,
  QueryResult,
  SqlValue,
  Transaction,
} from '../database/database.js'
import { MysqlDatabase } from '../database/mysql/mysql.js'
import { SqliteDatabase } from '../database/sqlite/sqlite.js'
import { freePort } from '../../test/servers/free-port.js'
import { sharedMysqlUrl } from '../../test/servers/shared.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { testDatabase } from './database.js'
import { type Fault, testPlanted } from './planted.fixture.js'

/** A fault of a database. */
export type DatabaseFault = Fault<Database>
type Faults = Readonly<Record<string, DatabaseFault>>
type Query = Queryable['query']

const AT_ONCE = 4

/** Plants faults in databases of `sqlite()`. */
export function testPlantedSqlite(faults: Faults, oddities: Faults = {}): void {
  const folder = mkdtempSync(join(tmpdir(), 'wide-cache-planted-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  let files = 0
  testPlanted<Database>(
    'a database',
    (register, wrap) =>
      testDatabase({
        test: register,
        name: 'planted',
        async create() {
          const file = join(folder, `${++files}.db`)
          return () => wrap(new SqliteDatabase(file))
        },
        capabilities: { keepsNul: false },
      }),
    faults,
    { oddities, concurrency: AT_ONCE },
  )
}

/** Plants faults in databases of `mysql()`. */
export async function testPlantedMysql(faults: Faults): Promise<void> {
  const unused = await freePort()
  testPlanted<Database>(
    'a MySQL database',
    (register, wrap) =>
      testDatabase({
        test: register,
        name: 'planted',
        async create() {
          const url = await sharedMysqlUrl()
          return () => wrap(new MysqlDatabase(url))
        },
        capabilities: {
          createUnreachable: () => wrap(new MysqlDatabase(`mysql://user@127.0.0.1:${unused}/site`)),
        },
      }),
    faults,
    { concurrency: AT_ONCE },
  )
}

/** Transactions with some methods replaced. */
export function inTransactions(
  database: Database,
  replace: (tx: Transaction) => Partial<Transaction>,
): Partial<Database> {
  return {
    transaction: (work) => database.transaction((tx) => work(wrapped(tx, replace(tx)))),
  }
}

/** The same change to statements alone, and to those in transactions. */
export function everywhere(
  change: (query: Query) => Query,
): (database: Database) => Partial<Database> {
  return (database) => ({
    query: change((...given) => database.query(...given)),
    ...inTransactions(database, (tx) => ({ query: change((...given) => tx.query(...given)) })),
  })
}

/** The same change to statements in transactions, and none to the others. */
export function inTransactionsOnly(
  change: (query: Query) => Query,
): (database: Database) => Partial<Database> {
  return (database) =>
    inTransactions(database, (tx) => ({ query: change((...given) => tx.query(...given)) }))
}

/** Results with other values. */
export const reading =
  (other: (value: SqlValue) => unknown) =>
  (query: Query): Query =>
  async (...given) => {
    const { rows, affectedRows } = await query(...given)
    const changed = rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, other(value)])),
    )
    return { rows: changed, affectedRows } as QueryResult
  }

/** Statements with other parameters. */
export const binding =
  (other: (value: SqlValue) => SqlValue) =>
  (query: Query): Query =>
  (sql, values = []) =>
    query(sql, values.map(other))

/** Failures with another error. */
export const failing =
  (other: (error: Error, values: readonly SqlValue[]) => unknown) =>
  (query: Query): Query =>
  (sql, values = []) =>
    query(sql, values).catch((error: Error) => Promise.reject(other(error, values)))
