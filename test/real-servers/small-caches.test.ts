/**
 * Caches that are small, or take small items only, and a database that stands still: all rows come
 * to SQL.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { mysql } from '../../src/database/mysql/mysql.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { startMariadb } from '../servers/mariadb.js'
import { startMemcached } from '../servers/memcached.js'
import { sharedMysqlUrl } from '../servers/shared.js'
import {
  assertLedger,
  assertRecorded,
  createRecorded,
  openRecorded,
  type Recorded,
  rowsOf,
  uniqueName,
} from './recorded.js'

const EACH_SECOND = '* * * * * *'
const ROWS = 40_000
const SECONDS = 8
const FROZEN_MS = 30_000
/** A busy machine takes a while for what is committed directly. */
const CLOSE_MS = 300_000

const caches: [what: string, options: Parameters<typeof startMemcached>[0]][] = [
  ['64 MB', { memoryMb: 64 }],
  // One page a slab class is more than that, so it evicts nearly at once.
  ['2 MB', { memoryMb: 2 }],
  ['items of 4 KiB at most', { args: ['-I', '4k', '-o', 'slab_chunk_max=2048'] }],
]

/** Records rows at an even pace. */
async function record(
  wide: { append(row: Recorded): void },
  rows: number,
  seconds: number,
): Promise<void> {
  const began = performance.now()
  for (let recorded = 0; recorded < rows;) {
    const due = Math.min(rows, Math.ceil(((performance.now() - began) / (seconds * 1000)) * rows))
    for (const row of rowsOf(0, recorded, due)) wide.append(row)
    recorded = due
    await delay(10)
  }
}

describe('nothing is lost', { concurrency: true }, () => {
  for (const [what, options] of caches) {
    test(`memcached with ${what}: ${ROWS} rows, each once`, async () => {
      const memcached = await startMemcached(options)
      const sql = mysql(await sharedMysqlUrl())
      await createRecorded(sql)
      const grid = {
        name: uniqueName(),
        cellTtlSeconds: 60,
        closeTimeoutMs: CLOSE_MS,
        logger: keptLog(),
      }
      const cache = `memcached://${memcached.address}`
      const writer = openRecorded({ cache, database: sql, collect: false }, grid)
      const collector = openRecorded({ cache, database: sql, collect: EACH_SECOND }, grid)
      try {
        await record(writer, ROWS, SECONDS)
        const { lost, inCache } = await writer.close()
        assert.deepEqual([lost, inCache], [0, 0])
        await collector.close()
        await assertRecorded(sql, rowsOf(0, 0, ROWS))
        const reader = openRecorded({ cache, database: sql, collect: false }, grid)
        assertLedger(await reader.ledger(), ROWS)
        await reader.close()
      } finally {
        await Promise.all([writer.close(), collector.close()])
        await sql.close()
        await memcached.kill()
      }
    })
  }

  test(`SQL hangs for ${FROZEN_MS / 1000} s: nothing is lost, the ledger is exact`, async () => {
    const [mariadb, memcached] = [await startMariadb(), await startMemcached()]
    const sql = mysql(mariadb.url())
    await createRecorded(sql)
    const grid = { name: uniqueName(), closeTimeoutMs: CLOSE_MS, logger: keptLog() }
    const cache = `memcached://${memcached.address}`
    const writer = openRecorded({ cache, database: mariadb.url(), collect: false }, grid)
    const collector = openRecorded({ cache, database: mariadb.url(), collect: EACH_SECOND }, grid)
    try {
      await writer.migrate()
      const recording = record(writer, ROWS, FROZEN_MS / 1000 + 4)
      await delay(2_000)
      process.kill(mariadb.pid, 'SIGSTOP')
      await delay(FROZEN_MS)
      process.kill(mariadb.pid, 'SIGCONT')
      await recording
      const { lost, inCache } = await writer.close()
      assert.deepEqual([lost, inCache], [0, 0])
      await collector.close()
      await assertRecorded(sql, rowsOf(0, 0, ROWS))
      const reader = openRecorded({ cache, database: sql, collect: false }, grid)
      assertLedger(await reader.ledger(), ROWS)
      await reader.close()
    } finally {
      process.kill(mariadb.pid, 'SIGCONT')
      await Promise.all([writer.close(), collector.close()])
      await sql.close()
      await Promise.all([mariadb.stop(), memcached.kill()])
    }
  })
})
