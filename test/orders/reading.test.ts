import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CachedRead } from '../../src/wide-cache/cached-read.js'
import type { WideCacheOptions } from '../../src/wide-cache/options.js'
import { Sender } from '../../src/wide-cache/ledger/sender.fixture.js'
import { ledgerReport } from '../../src/wide-cache/ledger/report.js'
import { explore, type Ports } from '../simulated-world/explorer.js'
import { drainAgain, enterGrid, partsOf, writerOf } from './parts.js'
import { LAYER_MS, NAME, openWideCache, REFUSED } from './wide-cache.js'

const FLUSH_MS = 50

interface Figures {
  readonly rows: number
  readonly asOf: number
}

/** Reads the number of rows, and the moment up to which they are complete. */
const read: WideCacheOptions<string, Figures>['read'] = async (database, { asOf }) => {
  const { rows } = await database.query('SELECT COUNT(*) AS n FROM committed')
  return { rows: Number(rows[0]!['n']), asOf }
}

test('figures have all rows up to their moment, while these are committed', async () => {
  const moments = new Set<boolean>()
  await explore(
    async (orders) => {
      // Each of its two frames is a batch.
      const collector = partsOf(orders.actor('collector'), { maxCommitRows: 1 })
      await enterGrid(orders, [collector])
      const reader = openWideCache(orders.actor('reader'), { read })
      await orders.alone(() => reader.migrate())
      const { store } = orders
      const { record, clock } = collector
      const grid = record.grid!
      const at = clock.now()
      const frames = [1, 2].map((id) => new Sender(Buffer.alloc(16, id)).frame(0).bytes)
      await store.set(
        orders.keyStart() + grid.keys.cell(grid.layers.at(at), 0),
        Buffer.concat(frames),
        60,
      )
      await orders.pass(3 * LAYER_MS)
      let figures: Figures | undefined
      await orders.together({
        collector: () => drainAgain(collector),
        reader: async () => void (figures = (await reader.read()) as Figures),
      })
      const isComplete = figures!.asOf > at + FLUSH_MS
      moments.add(isComplete)
      assert(!isComplete || figures!.rows === 2, `${figures!.rows} rows`)
    },
    { preemptions: 1 },
  )
  assert.equal(moments.size, 2)
})

/** Figures that are read from SQL once in ten seconds, and cached. */
function cachedRead({ cache, database, environment }: Ports, onQuery: () => number) {
  return new CachedRead({
    cache,
    environment,
    name: NAME,
    ttlSeconds: 10,
    key: 'figures',
    query: async () => {
      const figures = onQuery()
      await database.query('SELECT 1 FROM wide_cache_names')
      return { figures, readAt: environment.clock.now() }
    },
  })
}

test('of processes that ask for figures at once, one reads them and all have them', async () => {
  await explore(async (orders) => {
    let queries = 0
    const ask = (name: string) => async () => {
      const figures = cachedRead(orders.actor(name), () => ++queries)
      assert.deepEqual(await Promise.all([figures.read(), figures.read()]), [1, 1])
    }
    await orders.together({ one: ask('one'), two: ask('two') })
    assert.equal(queries, 1)
  })
})

test('a report adds up while frames are settled, and no sum of what is decided falls', async () => {
  await explore(
    async (orders) => {
      const [one, collector] = [partsOf(orders.actor('one')), partsOf(orders.actor('collector'))]
      await enterGrid(orders, [one, collector])
      const writer = writerOf(one)
      writer.append('first')
      await orders.alone(() => writer.flush())
      await orders.pass(3 * LAYER_MS)
      writer.append('second')
      const report = () => ledgerReport(one.database, NAME, () => writer.totals())
      await orders.together({
        one: async () => {
          let before = await report()
          let appended = 2
          for (const row of [REFUSED, 'third']) {
            writer.append(row)
            const now = await report()
            const { issued, committed, quarantined, dropped, outstanding, owed, lost } = now
            assert.equal(issued, ++appended)
            const known = committed + quarantined + dropped + lost
            assert.equal(issued, known + outstanding + owed)
            assert(outstanding >= 0 && issued >= before.issued && committed >= before.committed)
            assert(owed >= 0 && lost >= before.lost)
            before = now
          }
        },
        collector: () => drainAgain(collector),
      })
    },
    { preemptions: 1 },
  )
})
