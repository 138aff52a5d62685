/**
 * Promises 1, 2, 3 and 6 on real servers: several processes, many rows, and one fault in
 * mid-run. Most of the time they wait for writers to commit what the fault has taken, so several
 * sites run at once.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ALL as IN_FULL } from '../scale.js'
import { ROWS_A_WRITER, type Site, startSite, WRITERS } from './site.js'

const ALL = WRITERS * ROWS_A_WRITER
const SITES_AT_ONCE = 3

/**
 * Runs a site, disturbs it when a third is recorded, or another share, and expects every row
 * exactly once and a ledger that says so.
 */
function exactlyOnce(
  name: string,
  disturb: (site: Site) => Promise<void>,
  options: Parameters<typeof startSite>[0] & { share?: number } = {},
): void {
  test(`${WRITERS} writers, 2 collectors, ${ALL} rows, each exactly once: ${name}`, async () => {
    const { share = 1 / 3, ...rest } = options
    const site = await startSite(rest)
    try {
      await site.recordedShare(share)
      await disturb(site)
      const { rows, distinct, ledger } = await site.finish(ALL)
      assert.deepEqual({ rows, distinct }, { rows: ALL, distinct: ALL })
      const { duplicate: _, ...sums } = ledger
      assert.deepEqual(sums, {
        issued: ALL,
        committed: ALL,
        quarantined: 0,
        dropped: 0,
        outstanding: 0,
        owed: 0,
        lost: 0,
      })
    } finally {
      await site.stop()
    }
  })
}

describe('exactly once', { concurrency: SITES_AT_ONCE }, () => {
  exactlyOnce('memcached is flushed', async ({ memcached }) => {
    await memcached[0]?.flush()
  })

  exactlyOnce(
    'a collector is killed in mid-transaction',
    async (site) => {
      // Either may have the lease, and the other may never come to commit anything.
      const collector = await Promise.race(
        site.collectors.map(async (each) => {
          await once(each, 'message')
          return each
        }),
      )
      await site.end(collector, 'SIGKILL')
    },
    // A busy machine may bring all rows in the first commit.
    { slowCommit: true, share: 0 },
  )

  exactlyOnce(
    'the database is restarted',
    async ({ mariadb }) => {
      assert(mariadb)
      await mariadb.restart()
    },
    { ownMariadb: true },
  )

  test('SIGTERM makes a writer lose nothing, though memcached is killed right after', async () => {
    const site = await startSite()
    try {
      await site.recordedShare(1 / 3)
      const [writer] = site.writers
      assert(writer)
      await site.end(writer.child, 'SIGTERM')
      await site.memcached[0]?.kill()
      assert.deepEqual([writer.closed?.inCache, writer.closed?.lost], [0, 0])
      const expected = writer.recorded + (WRITERS - 1) * ROWS_A_WRITER
      assert(writer.recorded < ROWS_A_WRITER, 'it was ended in mid-run')
      const { rows, distinct, writers, ledger } = await site.finish(expected)
      assert.deepEqual(
        { rows, distinct, ofWriter: writers[0]?.rows },
        { rows: expected, distinct: expected, ofWriter: writer.recorded },
      )
      assert.deepEqual(
        [ledger.issued, ledger.committed, ledger.dropped, ledger.outstanding, ledger.lost],
        [expected, expected, 0, 0, 0],
      )
    } finally {
      await site.stop()
    }
  })

  test('a writer ended by SIGKILL loses its open frame at most', async () => {
    const site = await startSite()
    try {
      await site.recordedShare(1 / 3)
      const [writer] = site.writers
      assert(writer)
      const before = writer.recorded
      // Rows said to be recorded now are placed well before the kill.
      await delay(1_000)
      await site.end(writer.child, 'SIGKILL')
      const others = (WRITERS - 1) * ROWS_A_WRITER
      const { rows, distinct, writers, ledger } = await site.finish(others + before)
      assert.equal(rows, distinct)
      const [killed] = writers
      assert(killed)
      assert.equal(rows - killed.rows, others)
      assert.equal(killed.last + 1, killed.rows, 'only the last rows are missing')
      assert(killed.rows >= before, `${killed.rows} of at least ${before}`)
      const { issued, committed, quarantined, dropped, outstanding, owed, lost } = ledger
      assert.equal(issued, committed + quarantined + dropped + outstanding + owed + lost)
      assert.deepEqual([committed, outstanding + owed + lost], [rows, 0])
    } finally {
      await site.stop()
    }
  })

  if (IN_FULL) {
    exactlyOnce('nothing goes wrong', async () => undefined)

    exactlyOnce('memcached is restarted', async ({ memcached }) => {
      await memcached[0]?.restart()
    })

    exactlyOnce('memcached is away for 20 seconds', async ({ memcached }) => {
      memcached[0]?.pause()
      await delay(20_000)
      memcached[0]?.resume()
    })

    exactlyOnce(
      'one of three memcached servers is gone for good',
      async ({ memcached }) => {
        await memcached[1]?.kill()
      },
      { memcachedServers: 3 },
    )
  }
})
