import { setTimeout as delay } from 'node:timers/promises'
import {
  type Database,
  DatabaseError,
  type Queryable,
  type Transaction,
} from '../database/database.js'
import { wrapped } from '../../test/servers/wrapped.js'
import {
  type DatabaseFault,
  inTransactions,
  testPlantedSqlite,
} from './planted-databases.fixture.js'

const HOOKS = 'work before the commit runs last, in order, and its failure rolls back'
const COMMITS = 'a transaction commits all and returns what its work returns'
const ROLLS_BACK = 'work that rejects rolls all back and passes its error'
const CAUGHT = 'a failed statement rolls back its transaction, even if it is caught'
const NOT_AWAITED = 'statements not awaited by a rejected transaction do not run later'
const LATER = 'a transaction waits for unawaited statements, and takes none after'
const REFUSES = 'a transaction refuses what would end it, unsent, and rolls back'
const TAKES = 'a transaction takes each statement on rows, whatever its comments'
const UNSEEN = 'nobody sees what is not committed'
const ADDING = 'transactions that add to one row at the same time lose nothing'
const NOW = `now() is the database's clock, and goes on within a transaction`
const ONCE = 'work and statements that fail are not run again'
const LOCKED = 'a lock held too long has category lock; idle work loses its own'
const LONGEST = 'a statement of maxStatementBytes is taken, and a longer one is data'
const QUEUE = "statements over the queue's bound are refused; the others are done"
const CLOSE = 'close() waits for running calls, and refuses later ones'
const MIGRATES = 'several uses that migrate at once make the tables once'
const PARTS = 'only the tables that are asked for are made'
const FOREIGN = 'a foreign table with one of our names is refused; nothing is written'
const NEWER = 'tables that a newer version has made are refused'

/** A transaction whose statements each commit by themselves. */
const autocommit: DatabaseFault[1] = (database) => ({
  transaction: (work) => work(database as unknown as Transaction),
})
const ignoring =
  (code: string): DatabaseFault[1] =>
  (database) => ({
    migrate: (parts) =>
      database.migrate(parts).catch((error: DatabaseError) => {
        if (error.code !== code) throw error
      }),
  })
const withTx = (replace: (tx: Transaction, database: Database) => Partial<Transaction>) =>
  ((database) => inTransactions(database, (tx) => replace(tx, database))) satisfies DatabaseFault[1]

/**
 * Statements that end a transaction, or change more than rows. Written here once more, so that one
 * which the suite loses is missed.
 */
const ENDS = [
  'CREATE TABLE other (id INTEGER)',
  'ALTER TABLE counters ADD COLUMN extra INTEGER',
  'DROP TABLE counters',
  'COMMIT',
  'ROLLBACK',
  'BEGIN',
  'start transaction',
  'SAVEPOINT mine',
  'RELEASE SAVEPOINT wide_cache',
  'LOCK TABLES counters WRITE',
  'CALL something()',
  'SET autocommit = 1',
  'SET @@autocommit = 1',
  'SET @mine = 1, autocommit = 1',
  `SET @mine = 'a, @b', @@SESSION.autocommit = 1`,
  '-- a comment\nCOMMIT',
  '/* SELECT */ COMMIT',
  '# a comment\n COMMIT',
  '/*! COMMIT */',
  '/*!50000 CREATE TABLE other (id INTEGER) */',
  '/*M! COMMIT */',
  `SELECT '/* quoted' /*! , 1 */`,
  'SELECTED',
  '',
]
/** Takes one of them, and does nothing. */
const taking = (end: string): DatabaseFault => [
  REFUSES,
  withTx((tx) => ({
    query: async (sql, values) =>
      sql === end ? { rows: [], affectedRows: 0 } : tx.query(sql, values),
  })),
]

const TRANSACTIONS: Readonly<Record<string, DatabaseFault>> = {
  'transaction: each statement commits by itself': [ROLLS_BACK, autocommit],
  'transaction: each commits by itself, and one fails': [CAUGHT, autocommit],
  'transaction: each commits by itself, and others look': [UNSEEN, autocommit],
  'transaction: each commits by itself, and others add': [ADDING, autocommit],
  'transaction: resolves to nothing': [
    COMMITS,
    (database) => ({
      transaction: (work) => database.transaction(work).then(() => undefined as never),
    }),
  ],
  'transaction: resolves before the commit, which comes at the end': [
    COMMITS,
    (database) => {
      let letGo = () => {}
      const closing = new Promise<void>((resolve) => (letGo = resolve))
      return {
        transaction: (work) =>
          new Promise((resolve, reject) => {
            const committed = database.transaction(async (tx) => {
              tx.beforeCommit(() => closing)
              resolve(await work(tx))
            })
            committed.catch(reject)
          }),
        close: () => (letGo(), database.close()),
      }
    },
  ],
  "transaction: has the work's error in one of its own": [
    ROLLS_BACK,
    (database) => ({
      transaction: (work) =>
        database.transaction(work).catch((cause: unknown) => {
          throw new Error('rolled back', { cause })
        }),
    }),
  ],
  'transaction: runs again after an error': [
    ONCE,
    (database) => ({
      transaction: (work) => database.transaction(work).catch(() => database.transaction(work)),
    }),
  ],
  'transaction: waits for a lock again': [
    LOCKED,
    (database) => ({
      transaction: (work) =>
        database.transaction(work).catch((error: DatabaseError) => {
          if (error.category !== 'lock') throw error
          return database.transaction(work)
        }),
    }),
  ],
  'transaction: has no idle limit': [
    LOCKED,
    (database) => ({
      transaction: (work) =>
        database.transaction(async (tx) => {
          const awake = setInterval(() => void tx.query('SELECT 1').catch(() => undefined), 1_000)
          return work(tx).finally(() => clearInterval(awake))
        }),
    }),
  ],
  'tx: can be used after its end': [
    LATER,
    withTx((tx, database) => {
      let ended = false
      tx.beforeCommit(async () => void (ended = true))
      return { query: (...given) => (ended ? database.query(...given) : tx.query(...given)) }
    }),
  ],
  'tx: what is not awaited runs after the rollback': [
    NOT_AWAITED,
    (database) => {
      const asked: Parameters<Queryable['query']>[] = []
      const note: Queryable['query'] = (...given) => {
        asked.push(given)
        return Promise.reject(new Error('later'))
      }
      return {
        transaction: (work) =>
          database
            .transaction((tx) => work(wrapped(tx, { query: note })))
            .catch(async (error: unknown) => {
              for (const given of asked) await database.query(...given)
              throw error
            }),
      }
    },
  ],
  ...Object.fromEntries(ENDS.map((end) => [`tx: takes ${JSON.stringify(end)}`, taking(end)])),
  'tx: ignores what would end it': [
    REFUSES,
    withTx((tx) => ({
      query: async (sql, values) =>
        /^\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\b/i.test(sql)
          ? tx.query(sql, values)
          : { rows: [], affectedRows: 0 },
    })),
  ],
  'tx: refuses what begins with a comment': [
    TAKES,
    withTx((tx) => ({
      query: (sql, values) => tx.query(/^\s*(--|\/\*)/.test(sql) ? 'COMMIT' : sql, values),
    })),
  ],
  'tx: hooks run at once': [HOOKS, withTx(() => ({ beforeCommit: (hook) => void hook() }))],
  'tx: hooks run after the commit': [
    HOOKS,
    (database) => ({
      async transaction(work) {
        const hooks: (() => Promise<void>)[] = []
        const result = await database.transaction((tx) =>
          work(wrapped(tx, { beforeCommit: (hook) => void hooks.push(hook) })),
        )
        for (const hook of hooks) await hook()
        return result
      },
    }),
  ],
  'tx: hooks run though the work fails': [
    HOOKS,
    (database) => ({
      transaction: (work) =>
        database.transaction(async (tx) => {
          const hooks: (() => Promise<void>)[] = []
          const beforeCommit: Transaction['beforeCommit'] = (hook) => {
            hooks.push(hook)
            tx.beforeCommit(hook)
          }
          return work(wrapped(tx, { beforeCommit })).catch(async (error: unknown) => {
            for (const hook of hooks) await hook()
            throw error
          })
        }),
    }),
  ],
  'tx: has another error where hooks are left': [
    HOOKS,
    (database) => ({
      transaction: (work) => {
        let left = 0
        const count = (tx: Transaction): Partial<Transaction> => ({
          beforeCommit(hook) {
            left++
            tx.beforeCommit(() => (left--, hook()))
          },
        })
        return database
          .transaction((tx) => work(wrapped(tx, count(tx))))
          .catch((cause: unknown) => {
            throw left > 0 ? new Error('hooks are left', { cause }) : cause
          })
      },
    }),
  ],
  'tx: hooks that come too late are ignored': [
    HOOKS,
    withTx((tx) => ({
      beforeCommit(hook) {
        try {
          tx.beforeCommit(hook)
        } catch {}
      },
    })),
  ],
  "tx: now() is that of the transaction's beginning": [
    NOW,
    withTx((tx) => {
      const began = tx.now()
      return { now: () => began }
    }),
  ],
  'tx: has no dialect': [COMMITS, withTx(() => ({ dialect: undefined as never }))],
  'tx: has no maxStatementBytes': [
    LONGEST,
    withTx(() => ({ maxStatementBytes: undefined as never })),
  ],
}

const OTHERS: Readonly<Record<string, DatabaseFault>> = {
  'now(): in seconds': [
    NOW,
    (database) => ({ now: async () => Math.floor((await database.now()) / 1_000) }),
  ],
  'queue: without a bound': [
    QUEUE,
    (database) => {
      const query: Queryable['query'] = (...given) =>
        database.query(...given).catch(async (error: DatabaseError) => {
          if (error.code !== 'DATABASE_QUEUE_FULL') throw error
          await delay(10)
          return query(...given)
        })
      return { query }
    },
  ],
  'close(): does not wait': [
    CLOSE,
    (database) => ({ close: async () => void database.close().catch(() => undefined) }),
  ],
  'close(): cuts off what runs': [
    CLOSE,
    (database) => {
      const cut = new AbortController()
      const closed = new Promise<never>((_, reject) => {
        cut.signal.addEventListener('abort', () =>
          reject(new DatabaseError('DATABASE_CLOSED', 'usage', 'closed')),
        )
      })
      closed.catch(() => undefined)
      return {
        transaction: (work) => Promise.race([database.transaction(work), closed]),
        close: () => (cut.abort(), database.close()),
      }
    },
  ],
  'close(): later calls open it again': [
    CLOSE,
    (database) => ({ close: () => database.query('SELECT 1').then(() => undefined) }),
  ],
  'close(): fails the second time': [
    CLOSE,
    (database) => {
      let closed = false
      return {
        async close() {
          if (closed) throw new DatabaseError('DATABASE_CLOSED', 'usage', 'closed')
          closed = true
          await database.close()
        },
      }
    },
  ],
  'migrate(): makes nothing': [MIGRATES, () => ({ migrate: async () => undefined })],
  'migrate(): makes all tables': [PARTS, (database) => ({ migrate: () => database.migrate() })],
  'migrate(): ignores foreign tables': [FOREIGN, ignoring('DATABASE_FOREIGN_TABLE')],
  'migrate(): ignores newer tables': [NEWER, ignoring('DATABASE_NEWER')],
}

testPlantedSqlite({ ...TRANSACTIONS, ...OTHERS })
