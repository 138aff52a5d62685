import {
  DatabaseError,
  type QueryResult,
  type SqlValue,
  type Transaction,
} from '../database/database.js'
import {
  type DatabaseFault,
  everywhere,
  failing,
  inTransactions,
  testPlantedMysql,
} from './planted-databases.fixture.js'

const ISOLATION = 'a transaction reads what others have committed, and no more'
const ONCE = 'work and statements that fail are not run again'
const DEADLOCK = 'of two transactions that deadlock one has category lock'
const LONGEST = 'a statement of maxStatementBytes is taken, and a longer one is data'
const UNREACHABLE = 'a database that cannot be reached says so, and runs no work'
const LOAD = 'load, where it is given, stores all rows as they are, or none'

/** Runs a transaction again after errors of a category. */
const retrying =
  (category: string): DatabaseFault[1] =>
  (database) => ({
    transaction: (work) =>
      database.transaction(work).catch((error: DatabaseError) => {
        if (error.category !== category) throw error
        return database.transaction(work)
      }),
  })

const shifted =
  (bytes: number): DatabaseFault[1] =>
  (database) =>
    inTransactions(database, (tx) => ({ maxStatementBytes: tx.maxStatementBytes + bytes }))

const unreachableAs = (change: (error: DatabaseError) => DatabaseError) =>
  everywhere(
    failing((error) =>
      error instanceof DatabaseError && error.category === 'unreachable' ? change(error) : error,
    ),
  )

const copied = (rows: Iterable<readonly SqlValue[]>) => Array.from(rows, (row) => [...row])

const FAULTS: Readonly<Record<string, DatabaseFault>> = {
  'transaction: REPEATABLE READ': [
    ISOLATION,
    (database) =>
      inTransactions(database, (tx) => {
        const read = new Map<string, Promise<QueryResult>>()
        return {
          query(sql, values) {
            const result = read.get(sql) ?? tx.query(sql, values)
            if (sql.startsWith('SELECT')) read.set(sql, result)
            else read.clear()
            return result
          },
        }
      }),
  ],
  'transaction: runs again after a deadlock': [DEADLOCK, retrying('lock')],
  'transaction: a deadlock is data': [
    DEADLOCK,
    (database) => ({
      transaction: (work) =>
        database.transaction(work).catch((error: DatabaseError) => {
          throw new DatabaseError(error.code, 'data', error.message)
        }),
    }),
  ],
  'transaction: runs again after its connection broke': [ONCE, retrying('unreachable')],
  'query: sent again after its connection broke': [
    ONCE,
    (database) => ({
      query: (...given) =>
        database.query(...given).catch((error: DatabaseError) => {
          if (error.category !== 'unreachable') throw error
          return database.query(...given)
        }),
    }),
  ],
  'maxStatementBytes: more than the server takes': [LONGEST, shifted(1024 * 1024)],
  'maxStatementBytes: less than the server takes': [LONGEST, shifted(-1024 * 1024)],
  'unreachable: as usage': [
    UNREACHABLE,
    unreachableAs(({ code, message }) => new DatabaseError(code, 'usage', message)),
  ],
  'unreachable: as if something had been sent': [
    UNREACHABLE,
    unreachableAs(({ code, category, message }) => new DatabaseError(code, category, message)),
  ],
  'load: leaves out the last row': [
    LOAD,
    withLoad(
      (load) => (table, columns, rows, count) =>
        load(table, columns, copied(rows).slice(0, -1), count - 1),
    ),
  ],
  'load: leaves out rows that are refused': [
    LOAD,
    withLoad((load) => (table, columns, rows) => {
      const taken = copied(rows).filter(([, text]) => text !== 'is there')
      return load(table, columns, taken, taken.length)
    }),
  ],
}

function withLoad(
  change: (load: NonNullable<Transaction['load']>) => NonNullable<Transaction['load']>,
): DatabaseFault[1] {
  return (database) => inTransactions(database, ({ load }) => ({ load: load && change(load) }))
}

await testPlantedMysql(FAULTS)
