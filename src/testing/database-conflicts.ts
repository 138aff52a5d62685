/** Transactions that meet, and work that fails: an adapter reports it, and retries nothing. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database, Transaction } from '../database/database.js'
import { column, counters, type DatabaseTest } from './on-database.js'
import { assertCategory, rejects } from './rejects.js'

/** The longest pause of `work` that the port allows. */
const IDLE_MS = 10_000
/** Time for which a lock is held by a transaction that is not idle. SQLite waits 10 s for it. */
const AWAKE_MS = 5_000
/** A statement waits so long to be killed. */
const SLEEP_SECONDS = 15

export function testConflicts(it: DatabaseTest): void {
  it('a transaction reads what others have committed, and no more', async (database, open) => {
    await counters(database, 1)
    const other = open()
    const read = async (tx: Transaction) =>
      (await tx.query('SELECT n FROM counters')).rows[0]?.['n']
    // SQLite lets nobody write beside a transaction.
    const beside = database.dialect !== 'sqlite'
    let change: Promise<unknown> | undefined
    await database.transaction(async (tx) => {
      assert.equal(await read(tx), 0)
      change = other.query('UPDATE counters SET n = 1')
      if (beside) await change
      assert.equal(await read(tx), beside ? 1 : 0)
    })
    await change
    assert.equal(await database.transaction(read), 1)
    if (!beside) return
    await other.transaction(async (tx) => {
      await tx.query('UPDATE counters SET n = 2')
      assert.equal(await database.transaction(read), 1, 'what is not committed is not read')
    })
  })

  it('work and statements that fail are not run again', async (database, open) => {
    await counters(database, 2)
    const runs: string[] = []
    await assert.rejects(
      database.transaction(async () => {
        runs.push('work')
        throw new Error('the work fails')
      }),
    )
    await rejects(
      database.transaction(async (tx) => {
        runs.push('statement')
        await tx.query('INSERT INTO counters (id, n) VALUES (1, 1)')
      }),
      'data',
    )
    if (database.dialect !== 'sqlite') await breakConnections(database, open(), runs)
    assert.deepEqual(runs, [...new Set(runs)])
    assert.deepEqual(await column(database, 'SELECT n FROM counters'), [0, 0])
  })

  it('of two transactions that deadlock one has category lock', async (database, open) => {
    await counters(database, 2)
    const other = open()
    const deadlocks = database.dialect !== 'sqlite'
    const runs: number[] = []
    let letGo = () => {}
    const bothHold = new Promise<void>((resolve) => (letGo = resolve))
    const crossing = (on: Database, first: number, second: number) =>
      on.transaction(async (tx) => {
        await tx.query('UPDATE counters SET n = n + 1 WHERE id = ?', [first])
        if (runs.push(first) === 2) letGo()
        // SQLite locks the whole database, so the other one waits before it holds anything.
        if (deadlocks) await bothHold
        await tx.query('UPDATE counters SET n = n + 1 WHERE id = ?', [second])
      })
    const results = await Promise.allSettled([crossing(database, 1, 2), crossing(other, 2, 1)])
    const failed = results.filter((result) => result.status === 'rejected')
    assert.equal(failed.length, deadlocks ? 1 : 0)
    for (const { reason } of failed) assertCategory(reason, 'lock')
    assert.equal(runs.length, 2, 'each ran once')
    const n = 2 - failed.length
    assert.deepEqual(await column(database, 'SELECT n FROM counters'), [n, n])
  })

  it('a lock held too long has category lock; idle work loses its own', async (database, open) => {
    await counters(database, 1)
    const other = open()
    await other.query('SELECT 1')
    const ended = new AbortController()
    const wait = (ms: number) => delay(ms, undefined, { signal: ended.signal })
    let waiter: Promise<unknown> | undefined
    const holder = database.transaction(async (tx) => {
      await tx.query('UPDATE counters SET n = 1')
      waiter = other.transaction(async (others) => {
        // A server waits for 20 s unless it is told not to.
        if (other.dialect !== 'sqlite') {
          await others.query('SELECT n FROM counters WHERE id = 1 FOR UPDATE NOWAIT')
        }
        await others.query('UPDATE counters SET n = 5')
      })
      let waits = true
      waiter.catch(() => (waits = false))
      for (let ms = 0; waits && ms < AWAKE_MS; ms += 1_000) {
        await wait(1_000)
        await tx.query('SELECT 1')
      }
      await wait(2 * IDLE_MS)
    })
    try {
      await rejects(holder, 'usage', 'DATABASE_TRANSACTION_IDLE')
      await rejects(waiter ?? assert.fail('the holder has not begun'), 'lock')
    } finally {
      ended.abort()
    }
    assert.deepEqual(await column(database, 'SELECT n FROM counters'), [0])
    assert.equal((await other.query('UPDATE counters SET n = 7')).affectedRows, 1)
  })
}

/** What a product calls the connections that {@link breakConnections} ends. */
const CONNECTIONS = {
  mysql: {
    own: 'SELECT CONNECTION_ID() AS id',
    all: 'SELECT ID AS id, INFO AS sql_text FROM information_schema.processlist',
    end: (id: number) => `KILL ${id}`,
    sleep: `SLEEP(${SLEEP_SECONDS}) = 0`,
  },
  postgres: {
    own: 'SELECT pg_backend_pid() AS id',
    all: `SELECT pid AS id, query AS sql_text FROM pg_stat_activity WHERE state = 'active'`,
    end: (id: number) => `SELECT pg_terminate_backend(${id})`,
    sleep: `pg_sleep(${SLEEP_SECONDS}) IS NOT NULL`,
  },
}

/** Kills the connection of a transaction, and that of a statement. Neither may run again. */
async function breakConnections(
  database: Database,
  other: Database,
  runs: string[],
): Promise<void> {
  const { own, all, end, sleep } = CONNECTIONS[database.dialect === 'mysql' ? 'mysql' : 'postgres']
  const killed = database.transaction(async (tx) => {
    runs.push('killed')
    await tx.query('UPDATE counters SET n = n + 1')
    const { rows } = await tx.query(own)
    await other.query(end(Number(rows[0]?.['id'])))
    await tx.query('UPDATE counters SET n = n + 1')
  })
  await rejects(killed, 'unreachable')
  // Unique, because another run of the suite may use the same server at the same time.
  const unique = randomInt(2 ** 30)
  const statement = `UPDATE counters SET n = n + 1 WHERE id = 1 AND ${sleep} AND ${unique} > 0`
  let ended = false
  const cut = rejects(database.query(statement), 'unreachable').finally(() => (ended = true))
  cut.catch(() => undefined)
  let connection: unknown
  while (connection === undefined && !ended) {
    const { rows } = await other.query(all)
    connection = rows.find((row) => row['sql_text'] === statement)?.['id']
  }
  if (connection !== undefined) await other.query(end(Number(connection)))
  await cut
}
