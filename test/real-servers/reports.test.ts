/**
 * Promise 6 on real servers: what `ledger()` and `close()` report is what has become of the rows.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cache } from '../../src/cache/cache.js'
import { memcached } from '../../src/cache/memcached/memcached.js'
import type { Database } from '../../src/database/database.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import type { CloseReport } from '../../src/wide-cache/writer/closing.js'
import type { LedgerReport } from '../../src/wide-cache/ledger/report.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { PATIENT, startMemcached } from '../servers/memcached.js'
import { quickTime } from '../servers/quick-time.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import {
  assertLedger,
  assertRecorded,
  countRecorded,
  createRecorded,
  insertRecorded,
  openRecorded,
  type Recorded,
  rowsOf,
  uniqueName,
} from './recorded.js'

const EACH_SECOND = '* * * * * *'
const DAY_MS = 24 * 3600 * 1000
/** Rows of this writer are refused by `commit()`. */
const POISON = 666
/** Rows of this writer take `commit()` a while. */
const SLOW = 77
const SLOW_MS = 2_000
/** Longer than a busy machine needs to close. */
const CLOSE_MS = 120_000
/** What a close takes that cannot end: longer than such a machine needs to ask the ledger. */
const STUCK_CLOSE_MS = 12_000

async function recordedDatabase(): Promise<{ sql: Database; cache: Cache; name: string }> {
  const sql = mysql(await sharedMysqlUrl())
  await createRecorded(sql)
  return { sql, cache: memcached(await sharedMemcached(), PATIENT), name: uniqueName() }
}

async function ledgerIn(database: Database, name: string): Promise<LedgerReport> {
  const reader = openRecorded({ cache: 'memory:', database, collect: false }, { name })
  try {
    return await reader.ledger()
  } finally {
    await reader.close()
  }
}

function append(wide: { append(row: Recorded): void }, rows: readonly Recorded[]): void {
  for (const row of rows) wide.append(row)
}

/**
 * Holds the report of a writer. It may leave out `early` rows: a busy machine has confirmed them
 * before the close, and then the writer no longer holds them.
 */
function assertReport(report: CloseReport, early: number, expected: CloseReport): void {
  const committed = report.committed + (report.committed < expected.committed ? early : 0)
  assert.deepEqual({ ...report, committed }, expected)
}

describe('reports', { concurrency: true }, () => {
  test('rows appended while close() is at work are counted as dropped in SQL', async () => {
    const { sql, cache, name } = await recordedDatabase()
    let committing = false
    // Neither brings its rows by itself, however late the collecting run is.
    const grid = { name, confirmSeconds: 3_600, cellTtlSeconds: 7_200, closeTimeoutMs: CLOSE_MS }
    const other = openRecorded({ cache, database: sql, collect: false }, grid)
    const wide = openRecorded(
      { cache, database: sql, collect: EACH_SECOND },
      {
        ...grid,
        logger: keptLog(),
        async commit(rows, tx) {
          await insertRecorded(rows, tx)
          if (!rows.some(({ writer }) => writer === SLOW)) return
          committing = true
          await delay(SLOW_MS)
        },
      },
    )
    try {
      let slow = 0
      await eventually('the collecting run is in mid-transaction', async () => {
        // One may be committed directly, while the machine is busy.
        append(other, rowsOf(SLOW, slow, ++slow))
        await other.flush()
        return committing
      })
      append(wide, rowsOf(1, 0, 10))
      let closed = false
      const closing = wide.close().then(() => {
        closed = true
      })
      // It waits for the collecting run, which is not at its end.
      await delay(SLOW_MS / 4)
      assert(!closed, 'close() was to wait for its collecting run')
      append(wide, rowsOf(1, 10, 15))
      await closing
      await other.close()
      assertLedger(await ledgerIn(sql, name), slow + 10, { dropped: 5 })
      await assertRecorded(sql, [...rowsOf(SLOW, 0, slow), ...rowsOf(1, 0, 10)])
    } finally {
      await Promise.all([wide.close(), other.close()])
      await sql.close()
    }
  })

  test('rows appended after close() has resolved are only logged', async () => {
    const { sql, cache, name } = await recordedDatabase()
    const log = keptLog()
    const wide = openRecorded(
      { cache, database: sql, collect: false },
      { name, logger: log, closeTimeoutMs: CLOSE_MS },
    )
    try {
      append(wide, rowsOf(1, 0, 10))
      const closing = wide.close()
      append(wide, rowsOf(1, 10, 12))
      await closing
      const before = log.lines.length
      append(wide, rowsOf(1, 12, 15))
      await eventually('a line about the rows', () => log.lines.length > before)
      const [line = ''] = log.lines.slice(before)
      assert.match(line, /clos/i)
      assert.doesNotMatch(line, /ledger\(\)\.dropped/, 'they are not counted there')
      assertLedger(await ledgerIn(sql, name), 10, { dropped: 2 })
    } finally {
      await sql.close()
    }
  })

  test('a close report tells rows in quarantine from those committed', async () => {
    const { sql, cache, name } = await recordedDatabase()
    const wide = openRecorded(
      { cache, database: sql, collect: false },
      {
        name,
        logger: keptLog(),
        closeTimeoutMs: CLOSE_MS,
        async commit(rows, tx) {
          if (rows.some(({ writer }) => writer === POISON)) throw new Error('a poisonous row')
          await insertRecorded(rows, tx)
        },
      },
    )
    try {
      append(wide, rowsOf(1, 0, 10))
      await wide.flush()
      append(wide, rowsOf(POISON, 0, 3))
      await wide.flush()
      append(wide, rowsOf(1, 10, 15))
      const expected = { committed: 15, quarantined: 3, inCache: 0, lost: 0 }
      assertReport(await wide.close(), 10, expected)
      assertLedger(await ledgerIn(sql, name), 15, { quarantined: 3 })
    } finally {
      await wide.close()
      await sql.close()
    }
  })

  for (const [scope, what] of [
    ['shared', 'inCache'],
    ['private', 'lost'],
  ] as const) {
    test(`a close report counts rows in SQL as such, not as ${what} (${scope} cache)`, async () => {
      const { sql, cache, name } = await recordedDatabase()
      const options = {
        name,
        logger: keptLog(),
        closeTimeoutMs: STUCK_CLOSE_MS,
        cellTtlSeconds: 60,
      }
      const wide = openRecorded(
        { cache: scope === 'shared' ? cache : 'memory:', database: sql, collect: false },
        options,
      )
      try {
        append(wide, rowsOf(1, 0, 10))
        await wide.flush()
        await wide.drain({ all: true })
        await assertRecorded(sql, rowsOf(1, 0, 10))
        // SQL answers, but takes no more rows.
        await sql.query('RENAME TABLE recorded TO moved_away')
        append(wide, rowsOf(1, 10, 15))
        assertReport(await wide.close(), 10, {
          committed: 10,
          quarantined: 0,
          inCache: 0,
          lost: 0,
          [what]: 5,
        })
      } finally {
        await wide.close()
        await sql.close()
      }
    })
  }

  test('without a cache, a close report counts as lost only what SQL did not take', async () => {
    const { sql, name } = await recordedDatabase()
    const server = await startMemcached()
    const wide = openRecorded(
      { cache: `memcached://${server.address}`, database: sql, collect: false },
      { name, logger: keptLog(), closeTimeoutMs: STUCK_CLOSE_MS, cellTtlSeconds: 60 },
    )
    try {
      append(wide, rowsOf(1, 0, 10))
      await wide.flush()
      await wide.drain({ all: true })
      await server.kill()
      await sql.query('RENAME TABLE recorded TO moved_away')
      append(wide, rowsOf(1, 10, 15))
      const expected = { committed: 10, quarantined: 0, inCache: 0, lost: 5 }
      assertReport(await wide.close(), 10, expected)
    } finally {
      await wide.close()
      await sql.close()
      await server.kill()
    }
  })

  test('20 drains of all and the proper drain count no frame as a duplicate again', async () => {
    const { sql, cache, name } = await recordedDatabase()
    // The cells stay young for all of the drains.
    const wide = openRecorded(
      { cache, database: sql, collect: false },
      { name, layerSeconds: 5, confirmSeconds: 60, cellTtlSeconds: 60 },
    )
    try {
      append(wide, rowsOf(1, 0, 500))
      await wide.flush()
      await wide.drain({ all: true })
      // 500, where a busy machine has kept the answer of the cache back for so long that the writer
      // committed the frame itself, which the cell had all the same.
      const { duplicate } = await wide.ledger()
      assert(duplicate === 0 || duplicate === 500, `${duplicate} duplicates`)
      for (let i = 0; i < 20; i++) await wide.drain({ all: true })
      assertLedger(await wide.ledger(), 500, { duplicate })
      await delay(10_500)
      await wide.drain()
      assertLedger(await wide.ledger(), 500, { duplicate })
      await assertRecorded(sql, rowsOf(1, 0, 500))
    } finally {
      await wide.close()
      await sql.close()
    }
  })

  test('totals do not fall when writers are forgotten after 30 days', async () => {
    const { sql, cache, name } = await recordedDatabase()
    // Nothing is forgotten before the clocks have agreed for ten minutes: here that takes some
    // seconds.
    const { database, environment } = quickTime(60)
    const options = { name, logger: keptLog(), confirmSeconds: 3600, cellTtlSeconds: 600 }
    let forgets: ReturnType<typeof openRecorded> | undefined
    try {
      for (const writer of [1, 2, 3]) {
        const wide = openRecorded({ cache, database: sql, collect: false }, options)
        append(wide, rowsOf(writer, 0, 100))
        const closing = wide.close()
        append(wide, rowsOf(writer, 100, 105))
        await closing
      }
      // Cells that still hold their frames would bring the writers back.
      await delay(3_000)
      const collector = openRecorded({ cache, database: sql, collect: false }, options)
      await collector.drain()
      await collector.close()
      assertLedger(await ledgerIn(sql, name), 300, { dropped: 15 })
      await sql.query('UPDATE wide_cache_writers SET last_seen = last_seen - ?', [31 * DAY_MS])
      const rowsOfWriters = async (): Promise<number> =>
        Number((await sql.query('SELECT COUNT(*) AS n FROM wide_cache_writers')).rows[0]?.['n'])
      forgets = openRecorded(
        { cache, database: database(sql), collect: EACH_SECOND },
        options,
        environment,
      )
      append(forgets, rowsOf(4, 0, 10))
      await eventually('writers are forgotten', async () => (await rowsOfWriters()) < 3)
      await eventually('the new rows are collected', async () => (await countRecorded(sql)) >= 310)
      await forgets.close()
      assertLedger(await ledgerIn(sql, name), 310, { dropped: 15 })
    } finally {
      await forgets?.close()
      await sql.close()
    }
  })
})
