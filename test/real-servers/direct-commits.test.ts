/**
 * The log says when direct commits begin, and why, and when that is over: once each,
 * not once a frame.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { memcached as cacheOf } from '../../src/cache/memcached/memcached.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { type KeptLog, keptLog } from '../../src/support/kept-log.fixture.js'
import { type Memcached, startMemcached } from '../servers/memcached.js'
import { sharedMysqlUrl } from '../servers/shared.js'
import {
  assertRecorded,
  countRecorded,
  createRecorded,
  insertRecorded,
  openRecorded,
  type Recorded,
  type RecordedOptions,
  rowsOf,
  uniqueName,
} from './recorded.js'

/** A server is down when it refuses, not when a busy machine lets it wait. */
const PATIENCE_MS = 60_000

/** Pattern of the log lines about direct commits: begun, or over. */
const DIRECT = /directly/

interface Site {
  readonly wide: ReturnType<typeof openRecorded>
  readonly log: KeptLog
  /** Rows recorded so far. */
  recorded: number
  /** Records frames of one row each for about so long. */
  record(ms: number): Promise<void>
  /** Rows in SQL. */
  arrived(): Promise<number>
}

/**
 * Runs `use` on a writer and collector in one process beside `memcached`; in the end all rows are
 * to be in SQL.
 */
async function onSite(
  memcached: Memcached,
  options: RecordedOptions,
  use: (site: Site) => Promise<void>,
): Promise<void> {
  const sql = mysql(await sharedMysqlUrl())
  await createRecorded(sql)
  const log = keptLog()
  const wide = openRecorded(
    {
      cache: cacheOf(memcached.address, { timeoutMs: PATIENCE_MS }),
      database: sql,
      collect: '* * * * * *',
    },
    { name: uniqueName(), logger: log, flushMs: 5, cellTtlSeconds: 60, ...options },
  )
  const site: Site = {
    wide,
    log,
    recorded: 0,
    async record(ms) {
      for (const end = performance.now() + ms; performance.now() < end; await delay(20)) {
        for (const row of rowsOf(0, site.recorded, ++site.recorded)) wide.append(row)
      }
    },
    arrived: () => countRecorded(sql),
  }
  try {
    await wide.migrate()
    await use(site)
    await wide.close()
    await assertRecorded(sql, rowsOf(0, 0, site.recorded))
  } finally {
    await wide.close()
    await sql.close()
    await memcached.kill()
  }
}

/** The one line that says how it begins, and the one that says how it ended. */
async function linesOf(log: KeptLog, reason: RegExp): Promise<void> {
  await eventually(
    'a line when it begins and one when it ends',
    () => log.matching(DIRECT).length >= 2,
  ).catch(() => undefined)
  const lines = log.matching(DIRECT)
  assert.equal(
    lines.length,
    2,
    `one line when it begins and one when it ends, not: ${JSON.stringify(lines)}`,
  )
  assert.match(lines[0]!, reason)
  assert.match(lines[1]!, /\d/, 'how many went')
}

describe('direct commits', { concurrency: true }, () => {
  test('memcached is down for a while', async () => {
    const memcached = await startMemcached()
    await onSite(memcached, {}, async ({ record, log }) => {
      await record(2_000)
      assert.deepEqual(log.matching(DIRECT), [], 'while all is well there is nothing to say')
      await memcached.kill()
      await record(6_000)
      await eventually('a line when it begins', () => log.matching(DIRECT).length > 0)
      await memcached.start()
      await record(5_000)
      await linesOf(log, /unreachable|down|answer|reach/i)
    })
  })

  test('frames are over the item size limit of memcached', async () => {
    // Chunks of half the limit at most: otherwise this memcached does not start.
    const memcached = await startMemcached({ args: ['-I', '4k', '-o', 'slab_chunk_max=2048'] })
    const large = 'x'.repeat(6_000)
    await onSite(memcached, { commit: (rows, tx) => insertRecorded(rows, tx) }, async (site) => {
      const { record, log, wide } = site
      await record(2_000)
      assert.deepEqual(log.matching(DIRECT), [], 'while all is well there is nothing to say')
      for (let i = 0; i < 50; i++) {
        wide.append({ writer: 0, number: site.recorded++, large } as Recorded)
        await delay(100)
      }
      await eventually('a line when it begins', () => log.matching(DIRECT).length > 0)
      await record(5_000)
      await linesOf(log, /store|item|size|limit|full|large/i)
    })
  })

  test('memcached forgets what it has taken', async () => {
    const memcached = await startMemcached()
    await onSite(memcached, { collect: false }, async (site) => {
      const { record, log } = site
      await record(2_000)
      await memcached.flush()
      const lost = site.recorded
      // `confirmSeconds` passes.
      await eventually(
        'the rows come to SQL all the same',
        async () => (await site.arrived()) >= lost,
      )
      await record(500)
      await site.wide.drain({ all: true })
      await linesOf(log, /confirm|in time|evict|flush|lost|settled/i)
    })
  })
})
