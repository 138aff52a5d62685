import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseError } from '../database/database.js'
import type { RowUpdate } from '../database/dialect.js'
import { sql } from '../database/sql.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { PreparedDatabase } from '../connections/prepared-database.js'
import { Lane, type Work } from './lane.js'
import { openLane } from './lane-row.js'
import { type DatabaseFault, FaultyDatabase } from '../../test/simulated-world/faulty-database.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { withoutWaiting } from './pairs.fixture.js'

const DAY_MS = 24 * 3600 * 1000

/** A lane beside a table with one row, and work that adds 1 to it, or, the long way, 1,000. */
async function bench() {
  const inner = sqlite(':memory:')
  await inner.query('CREATE TABLE sums (id INTEGER PRIMARY KEY, total INTEGER NOT NULL)')
  await inner.query('INSERT INTO sums (id, total) VALUES (1, 0)')
  const said: { fault: DatabaseFault } = { fault: 'none' }
  const environment = withoutWaiting()
  const lane = new Lane(
    new PreparedDatabase(
      new FaultyDatabase(inner, (sql) => (sql === 'transaction' ? said.fault : 'none')),
      ['counters'],
      environment,
    ),
    environment,
    'test',
  )
  const adding = (id: number): RowUpdate => ({
    table: 'sums',
    set: sql`total = total + 1`,
    where: sql`id = ${id}`,
  })
  const work = (quick: RowUpdate | undefined): Work => ({
    quick,
    long: async (tx) => void (await tx.query('UPDATE sums SET total = total + 1000')),
  })
  const rowsOf = async (sql: string) => (await inner.query(sql)).rows
  return {
    inner,
    lane,
    said,
    environment,
    adding,
    work,
    total: async () => (await rowsOf('SELECT total FROM sums'))[0]?.['total'],
    lanes: async () =>
      (await rowsOf('SELECT sequence FROM sharded_counter_lanes ORDER BY created_at, lane')).map(
        ({ sequence }) => sequence,
      ),
  }
}

test('work takes the fast path where a row matches, and the slow path otherwise', async () => {
  const { inner, lane, adding, work, total, lanes } = await bench()
  await lane.commit(work(adding(1)))
  assert.equal(await total(), 1)
  await lane.commit(work(adding(2)))
  assert.equal(await total(), 1_001)
  await lane.commit(work(undefined))
  assert.equal(await total(), 2_001)
  assert.deepEqual(await lanes(), [3], 'one row, with the number of transactions')
  await inner.close()
})

test('a transaction with a lost reply is done once, committed or not', async () => {
  for (const fault of ['done', 'rolled back', 'not begun'] as const) {
    const { inner, lane, said, adding, work, total } = await bench()
    await lane.commit(work(adding(1)))
    said.fault = fault
    const committing = lane.commit({ ...work(adding(1)), quick: adding(1) })
    setImmediate(() => {
      said.fault = 'none'
    })
    await committing
    assert.equal(await total(), 2, fault)
    await inner.close()
  }
})

test('it tells which way the committed try went, though others went another way', async () => {
  for (const fault of ['done', 'rolled back'] as const) {
    const { inner, lane, said, adding, work } = await bench()
    assert.equal(await lane.commit(work(adding(1))), false)
    said.fault = fault
    const committing = lane.commit(work(adding(2)))
    setImmediate(async () => {
      await inner.query('INSERT INTO sums (id, total) VALUES (2, 0)')
      said.fault = 'none'
    })
    assert.equal(await committing, fault === 'done', fault)
    await inner.close()
  }
})

test('a lane of unknown outcome is replaced; a RangeError does not replace it', async () => {
  const { inner, lane, said, adding, work, lanes } = await bench()
  await lane.commit(work(adding(1)))
  await assert.rejects(
    lane.commit({ quick: undefined, long: () => Promise.reject(new RangeError('past 2^53-1')) }),
    RangeError,
  )
  await lane.commit(work(adding(1)))
  assert.deepEqual(await lanes(), [2])
  said.fault = 'rolled back'
  await assert.rejects(lane.commit(work(adding(1))), { code: 'COUNTER_OUTCOME_UNKNOWN' })
  said.fault = 'none'
  await lane.commit(work(adding(1)))
  assert.deepEqual((await lanes()).toSorted(), [1, 2])
  await inner.close()
})

test('another failure is passed on as it is, and nothing is counted', async () => {
  const { inner, lane, adding, work, total } = await bench()
  await lane.commit(work(adding(1)))
  for (const error of [
    new DatabaseError('TEST', 'usage', 'no such right'),
    new Error('elsewhere'),
  ]) {
    await assert.rejects(
      lane.commit({ quick: undefined, long: () => Promise.reject(error) }),
      error,
    )
  }
  assert.equal(await total(), 1)
  await inner.close()
})

test('a lane whose row others have removed or changed says so, and is left', async () => {
  for (const change of [
    'DELETE FROM sharded_counter_lanes',
    'UPDATE sharded_counter_lanes SET sequence = 77',
  ]) {
    const { inner, lane, adding, work, total } = await bench()
    await lane.commit(work(adding(1)))
    await inner.query(change)
    await assert.rejects(
      lane.commit(work(adding(1))),
      /counter "test": its row in sharded_counter_lanes has been changed or removed by others/,
    )
    await lane.commit(work(adding(1)))
    assert.equal(await total(), 2)
    await inner.close()
  }
})

test('a new lane removes old rows by one statement, however many there are', async () => {
  const database = sqlite(':memory:')
  const asked: string[] = []
  const counting = wrapped(database, {
    query: (...statement) => (asked.push(statement[0]), database.query(...statement)),
  })
  const prepared = new PreparedDatabase(counting, ['counters'], withoutWaiting())
  await openLane(prepared, Buffer.alloc(16, 1))
  for (const old of [1, 50]) {
    for (let n = 0; n < old; n++) {
      await database.query('INSERT INTO sharded_counter_lanes VALUES (?, 0, 0)', [
        Buffer.alloc(16, 100 + n),
      ])
    }
    asked.length = 0
    await openLane(prepared, Buffer.alloc(16, old + 1))
    assert.equal(asked.filter((sql) => sql.startsWith('DELETE')).length, 1)
  }
  const { rows } = await database.query('SELECT lane FROM sharded_counter_lanes')
  assert.equal(rows.length, 3)
  await database.close()
})

test('a lane is used for a day', async () => {
  const { inner, lane, environment, adding, work, lanes } = await bench()
  await lane.commit(work(adding(1)))
  environment.pass(DAY_MS - 1)
  await lane.commit(work(adding(1)))
  assert.deepEqual(await lanes(), [2])
  environment.pass(1)
  await lane.commit(work(adding(1)))
  assert.deepEqual((await lanes()).toSorted(), [1, 2])
  await inner.close()
})
