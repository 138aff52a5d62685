/**
 * One of several memcached servers is dead: frames take the columns of the others, and SQL is
 * spared.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { memcached as cacheOf } from '../../src/cache/memcached/memcached.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { type Memcached, PATIENT, startMemcached } from '../servers/memcached.js'
import { sharedMysqlUrl } from '../servers/shared.js'
import {
  assertLedger,
  assertRecorded,
  createRecorded,
  openRecorded,
  rowsOf,
  uniqueName,
} from './recorded.js'

const FRAMES = 300
const ROWS_A_FRAME = 10
const ROWS = FRAMES * ROWS_A_FRAME
/** Least share of the rows that travel through the grid. */
const LEAST_SHARE = 0.95

/**
 * Records frames beside a dead server, and expects nearly all to be brought to SQL by a collector,
 * and all in the end.
 */
async function recordsBeside(servers: number, dies: 'from the start' | 'later'): Promise<void> {
  const memcached = await Promise.all(Array.from({ length: servers }, () => startMemcached()))
  const [dead] = memcached as [Memcached, ...Memcached[]]
  // A dead server refuses; no other one counts as dead because the machine is busy.
  const cache = cacheOf(memcached.map(({ address }) => address).join(','), PATIENT)
  if (dies === 'from the start') await dead.kill()
  const sql = mysql(await sharedMysqlUrl())
  await createRecorded(sql)
  // None commits by itself because of its age within this test.
  const options = { name: uniqueName(), confirmSeconds: 120, flushMs: 5, cellTtlSeconds: 300 }
  const writer = openRecorded({ cache, database: sql, collect: false }, options)
  const collector = openRecorded({ cache, database: sql, collect: false }, options)
  let recorded = 0
  const record = async (rows: number): Promise<void> => {
    for (const end = recorded + rows; recorded < end; recorded += ROWS_A_FRAME) {
      for (const row of rowsOf(0, recorded, recorded + ROWS_A_FRAME)) writer.append(row)
      await delay(10)
    }
    // Frames that no server took are committed directly within some seconds.
    await delay(6_000)
    await writer.flush()
  }
  try {
    await writer.migrate()
    if (dies === 'later') {
      await record(ROWS_A_FRAME)
      await collector.drain({ all: true })
      await dead.kill()
    }
    if (dies === 'from the start') {
      // The list of marks may be on the dead server. Processes wait 20 s for it.
      await eventually('the first rows come through the grid', async () => {
        await record(ROWS_A_FRAME)
        return (await collector.drain({ all: true })).committed > 0
      })
    }
    await record(ROWS)
    const { committed } = await collector.drain({ all: true })
    await Promise.all([writer.close(), collector.close()])
    await assertRecorded(sql, rowsOf(0, 0, recorded))
    const reader = openRecorded({ cache, database: sql, collect: false }, options)
    assertLedger(await reader.ledger(), recorded)
    await reader.close()
    const share = committed / ROWS
    assert(
      share >= LEAST_SHARE,
      `${Math.round(share * 100)} % of the rows travelled through the grid, ` +
        `${LEAST_SHARE * 100} % were to`,
    )
  } finally {
    await Promise.all([writer.close(), collector.close()])
    await sql.close()
    await Promise.all(memcached.map((server) => server.kill()))
  }
}

describe('one of several memcached servers', { concurrency: true }, () => {
  for (const servers of [2, 3]) {
    for (const dies of ['from the start', 'later'] as const) {
      test(`one of ${servers} is dead ${dies}: no loss, and nearly all rows use the grid`, () =>
        recordsBeside(servers, dies))
    }
  }
})
