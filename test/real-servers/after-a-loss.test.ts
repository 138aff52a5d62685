/**
 * After a real loss, writers have thousands of settled frames above a gap: a drain costs what is
 * new, not what is kept.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { memcached } from '../../src/cache/memcached/memcached.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { fewOrMany } from '../scale.js'
import { watchTurns } from '../servers/longest-turn.js'
import { startMemcached } from '../servers/memcached.js'
import { sharedMysqlUrl } from '../servers/shared.js'
import { wrapped, wrappedDatabase } from '../servers/wrapped.js'
import {
  assertLedger,
  assertRecorded,
  createRecorded,
  openRecorded,
  type Recorded,
  rowsOf,
  uniqueName,
} from './recorded.js'

const WRITERS = 10
const FRAMES = fewOrMany(500, 2_000)
/** Number of each writer's frame that the cache loses: an early one. */
const LOST = 3
/** Fills a frame of the smallest size with one row. */
const FILLER = 'x'.repeat(700)
/**
 * Rows that the statements of one drain's transaction may return, for one new frame of each writer.
 */
const MOST_ROWS_READ = 20 * WRITERS
/** What a writer's close reports, but for what it has committed. */
const NOTHING_LEFT = { committed: 0, quarantined: 0, inCache: 0, lost: 0 }
/** It takes 20 to 35 ms, and several times as long on a core that is shared. */
const LONGEST_TURN_MS = 250

test(`${WRITERS} × ${FRAMES} frames above a gap: a drain reads what its frames need`, async () => {
  const server = await startMemcached({ memoryMb: 256 })
  const address = `memcached://${server.address}`
  const sql = mysql(await sharedMysqlUrl())
  await createRecorded(sql)
  let rowsRead = 0
  const counted = wrappedDatabase(sql, {}, (tx) => ({
    async query(text, values) {
      const result = await tx.query(text, values)
      rowsRead += result.rows.length
      return result
    },
  }))
  // Wide enough for all frames in one layer; and none commits by itself because of its age within
  // this test.
  const options = {
    name: uniqueName(),
    width: 60,
    cellTtlSeconds: 120,
    confirmSeconds: 3600,
    maxFrameBytes: 1024,
  }
  const caches = Array.from({ length: WRITERS }, () => {
    let frames = 0
    const target = memcached(server.address)
    return wrapped(target, {
      async append(key, value) {
        // It says that it has taken the frame, and has forgotten it.
        if (value.length > FILLER.length && frames++ === LOST) return true
        return target.append(key, value)
      },
      // No hint tells the writers of the loss.
      get: async (key) => (key.endsWith(':hint') ? undefined : target.get(key)),
    })
  })
  const writers = caches.map((cache) =>
    openRecorded({ cache, database: sql, collect: false }, options),
  )
  const collector = openRecorded({ cache: address, database: counted, collect: false }, options)
  const append = (from: number, to: number): void => {
    for (const [writer, wide] of writers.entries()) {
      for (const row of rowsOf(writer, from, to)) {
        wide.append({ ...row, filler: FILLER } as Recorded)
      }
    }
  }
  try {
    await Promise.all(writers.map((wide) => wide.migrate()))
    for (let from = 0; from < FRAMES; from += 100) {
      append(from, from + 100)
      await Promise.all(writers.map((wide) => wide.flush()))
    }
    await collector.drain({ all: true })
    // On a slow machine some have been committed directly.
    assert.equal(
      (await collector.ledger()).committed,
      WRITERS * (FRAMES - 1),
      'the cache was to lose one frame of each writer',
    )
    // Until their cells are old enough to go.
    await delay(5_000)
    await collector.drain()
    append(FRAMES, FRAMES + 1)
    await Promise.all(writers.map((wide) => wide.flush()))

    rowsRead = 0
    const turns = watchTurns()
    const { frames } = await collector.drain({ all: true })
    const turn = turns.take()
    turns.stop()
    assert(frames >= WRITERS)
    // The writers bring the lost frames.
    for (const report of await Promise.all(writers.map((wide) => wide.close()))) {
      assert.deepEqual({ ...report, committed: 0 }, NOTHING_LEFT)
    }
    await assertRecorded(
      sql,
      writers.flatMap((_, writer) => rowsOf(writer, 0, FRAMES + 1)),
    )
    assertLedger(await collector.ledger(), WRITERS * (FRAMES + 1))
    assert(
      rowsRead <= MOST_ROWS_READ,
      `the drain's transactions read ${rowsRead} rows for ${WRITERS} new frames`,
    )
    assert(turn < LONGEST_TURN_MS, `the event loop was held for ${Math.round(turn)} ms`)
  } finally {
    await Promise.all([collector, ...writers].map((wide) => wide.close()))
    await Promise.all(caches.map((cache) => cache.close()))
    await sql.close()
    await server.kill()
  }
})
