import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseError } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemEnvironment } from '../support/environment.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { PreparedDatabase } from './prepared-database.js'

/** A database in memory, and how often its tables were migrated and entered. */
function bench() {
  const inner = sqlite(':memory:')
  const counts = { migrations: 0, entries: 0, fails: false }
  const migrate = inner.migrate.bind(inner)
  inner.migrate = async (parts) => {
    counts.migrations++
    if (counts.fails) throw new DatabaseError('TEST', 'unreachable', 'down')
    return migrate(parts)
  }
  const database = new PreparedDatabase(inner, ['sequence'], systemEnvironment, async () => {
    counts.entries++
  })
  return { inner, counts, database }
}

const READ = 'SELECT * FROM sequence_generations'

test('the first use migrates, and all uses at once share the migration', async () => {
  const { inner, counts, database } = bench()
  assert.equal(typeof (await database.now()), 'number')
  assert.equal(counts.migrations, 0, 'the clock needs no tables')
  await Promise.all([
    database.query(READ),
    database.transaction((tx) => tx.query(READ)),
    database.migrate(),
  ])
  assert.deepEqual(counts, { migrations: 1, entries: 1, fails: false })
  await inner.close()
})

test('a migration that failed is tried again by the next use', async () => {
  const { inner, counts, database } = bench()
  counts.fails = true
  await assert.rejects(database.query(READ), { message: 'down' })
  counts.fails = false
  await database.query(READ)
  assert.deepEqual(counts, { migrations: 2, entries: 1, fails: false })
  await inner.close()
})

test('entering runs again where another transaction was in its way', async () => {
  const inner = sqlite(':memory:')
  let entries = 0
  const database = new PreparedDatabase(inner, ['sequence'], systemEnvironment, async () => {
    if (++entries < 3) throw new DatabaseError('ER_LOCK_DEADLOCK', 'lock', 'conflict')
  })
  await database.query(READ)
  assert.equal(entries, 3)
  await inner.close()
})

test('after a table was missing the next use migrates, after other errors not', async () => {
  const { inner, counts, database } = bench()
  await database.migrate()
  await inner.query('DROP TABLE sequence_generations')
  await inner.query('DELETE FROM wide_cache_migrations')
  await assert.rejects(database.query(READ), { category: 'usage' })
  await database.query(READ)
  assert.equal(counts.migrations, 2)
  await assert.rejects(
    database.transaction(() => Promise.reject(new RangeError('mine'))),
    RangeError,
  )
  await database.query(READ)
  assert.equal(counts.migrations, 2)
  await inner.close()
})

test('uses that join a migration share its failure, and the next one migrates again', async () => {
  const { inner, counts, database } = bench()
  counts.fails = true
  const joined = await Promise.allSettled([database.migrate(), database.query(READ)])
  assert.deepEqual(
    joined.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(counts.migrations, 1)
  counts.fails = false
  await database.query(READ)
  assert.equal(counts.migrations, 2)
  await inner.close()
})

test('a use that began before a new migration does not undo it by its failure', async () => {
  const { inner, counts, database } = bench()
  const missing = new DatabaseError('TEST', 'usage', 'no such table')
  let fail = (_: Error): void => undefined
  inner.transaction = () => new Promise((_, reject) => (fail = reject))
  const late = database.transaction(async () => undefined)
  await database.migrate()
  const query = inner.query.bind(inner)
  inner.query = () => Promise.reject(missing)
  await assert.rejects(database.query(READ), missing)
  inner.query = query
  await database.migrate()
  fail(missing)
  await assert.rejects(late, missing)
  await database.migrate()
  assert.equal(counts.migrations, 2)
  await inner.close()
})

test('a transaction is not retried, and the clock and other parts are those inside', async () => {
  const { inner, counts, database } = bench()
  const locked = new DatabaseError('TEST', 'lock', 'conflict')
  let tries = 0
  const work = (): Promise<never> => {
    tries++
    return Promise.reject(locked)
  }
  await assert.rejects(database.transaction(work), locked)
  assert.deepEqual([tries, counts.migrations], [1, 1])
  await assert.rejects(database.query('SELECT * FROM hits_counts'), { category: 'usage' })
  await database.migrate(['hits'])
  await database.query('SELECT * FROM hits_counts')
  assert.equal(database.maxStatementBytes, inner.maxStatementBytes)
  await database.close()
  await assert.rejects(inner.query('SELECT 1'), { code: 'DATABASE_CLOSED' })
})

test('entering uses the database itself, while the prepared one waits for it', async () => {
  const inner = sqlite(':memory:')
  const seen: unknown[] = []
  const database = new PreparedDatabase(inner, ['sequence'], systemEnvironment, async (itself) => {
    seen.push(itself, (await itself.query(READ)).rows)
  })
  await database.query(READ)
  assert.deepEqual(seen, [inner, []])
  await inner.close()
})

test('a transaction that has waited for a lock for seconds is left to its caller', async () => {
  const { inner } = bench()
  const clock = new ManualClock(0)
  const database = new PreparedDatabase(inner, [], { ...systemEnvironment, clock })
  let tries = 0
  await assert.rejects(
    database.retriedTransaction(async () => {
      tries++
      await clock.advance(20_000)
      throw new DatabaseError('TEST', 'lock', 'no lock in 20 s')
    }),
    { message: 'no lock in 20 s' },
  )
  assert.equal(tries, 1)
})

test('a transaction that met other locks runs again, with waits, at most eight times', async () => {
  const { inner } = bench()
  const clock = new ManualClock(0)
  const database = new PreparedDatabase(inner, [], { ...systemEnvironment, clock, random: () => 0 })
  let tries = 0
  const locked = (until: number) => async () => {
    if (++tries < until) throw new DatabaseError('TEST', 'lock', `try ${tries}`)
    return tries
  }
  const advancing = async <T>(running: Promise<T>): Promise<T> => {
    let over = false
    const ended = (): void => {
      over = true
    }
    running.then(ended, ended)
    while (!over) {
      await new Promise(setImmediate)
      // Time passes while it waits, and not while the machine is slow.
      if (clock.pending > 0) await clock.advance(5)
    }
    return running
  }
  assert.equal(await advancing(database.retriedTransaction(locked(3))), 3)
  tries = 0
  await assert.rejects(advancing(database.retriedTransaction(locked(100))), { message: 'try 8' })
  tries = 0
  await assert.rejects(
    database.retriedTransaction(() => {
      tries++
      return Promise.reject(new DatabaseError('TEST', 'unreachable', 'down'))
    }),
    { message: 'down' },
  )
  assert.equal(tries, 1)
  await inner.close()
})
