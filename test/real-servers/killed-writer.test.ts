/**
 * Promises 1 and 6 on real servers: what a killed writer has lost is what the cache lost, and the
 * ledger says how much.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { mysql } from '../../src/database/mysql/mysql.js'
import { openRecorded } from './recorded.js'
import { ROWS_A_WRITER, startSite, WRITERS } from './site.js'
import { eventually } from '../../src/support/eventually.fixture.js'

const OTHERS = (WRITERS - 1) * ROWS_A_WRITER
/** `layerSeconds` of the site. */
const LAYER_MS = 1_000
const FLUSHES = 3
/** More than the cell TTL. */
const LONG_AGO_MS = 2 * 3600 * 1000

test('memcached is flushed, a writer killed: the ledger reports its missing rows', async () => {
  const site = await startSite()
  const sql = mysql(site.database)
  const reader = openRecorded(
    { cache: `memcached://${site.memcached[0]!.address}`, database: site.database, collect: false },
    {
      readTtlSeconds: 1,
      read: async (_, { asOf }) => asOf,
    },
  )
  try {
    await site.recordedShare(1 / 3)
    // On a busy machine one flush may find all frames of the writer drained.
    for (let flushes = 0; flushes < FLUSHES; flushes++) {
      await site.memcached[0]!.flush()
      await delay(500)
    }
    // Frames behind the gap: they are what tells the ledger of it.
    await delay(1_000)
    const [writer] = site.writers
    assert(writer && !writer.done)
    await site.end(writer.child, 'SIGKILL')
    const killed = await sql.now()
    await eventually(
      'the layers of the killed writer are drained',
      async () => (await reader.read()) > killed + LAYER_MS,
    )

    const { rows, distinct, writers, ledger } = await site.finish(OTHERS)
    assert.equal(rows, distinct)
    assert.deepEqual(
      writers.slice(1).map((other) => other.rows),
      Array(WRITERS - 1).fill(ROWS_A_WRITER),
    )
    const missing = writers[0]!.last + 1 - writers[0]!.rows
    assert(missing > 0, 'the flush was to cost something')
    const { duplicate: _, ...before } = ledger
    assert.deepEqual(before, {
      issued: rows + missing,
      committed: rows,
      quarantined: 0,
      dropped: 0,
      outstanding: missing,
      owed: 0,
      lost: 0,
    })

    await sql.query('UPDATE wide_cache_writers SET last_seen = last_seen - ?', [LONG_AGO_MS])
    const { duplicate: __, ...after } = await reader.ledger()
    assert.deepEqual(after, { ...before, outstanding: 0, owed: missing })
  } finally {
    await reader.close()
    await sql.close()
    await site.stop()
  }
})
