import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CacheError } from '../../src/cache/cache.js'
import { ledgerReport } from '../../src/wide-cache/ledger/report.js'
import { Sender } from '../../src/wide-cache/ledger/sender.fixture.js'
import { Numbering } from '../../src/wide-cache/writer/numbering.js'
import { explore, type Orders } from '../simulated-world/explorer.js'
import {
  CONFIRM_SECONDS,
  drainAgain,
  enterGrid,
  held,
  NO_MIGRATION,
  type Parts,
  partsOf,
  placerOf,
  writerOf,
} from './parts.js'
import { committed, LAYER_MS, NAME, REFUSED } from './wide-cache.js'

const WRITER = Buffer.alloc(16, 1)
const MINUTE_MS = 60_000

function report(orders: Orders) {
  const { database } = orders.actor('reader')
  return orders.alone(() => ledgerReport(database, NAME, () => undefined))
}

/** Another process finds out that another database uses the same keys. */
function giveUpNamespace(orders: Orders): Promise<unknown> {
  const { database, environment } = orders.actor('other')
  return database.query('UPDATE wide_cache_identity SET namespace = ?', [environment.newId()])
}

/** A process whose cache is away. */
function cacheless(parts: Parts): Parts {
  const away = async () => {
    throw new CacheError('CACHE_UNREACHABLE', 'no cache')
  }
  const { scope, namespace } = parts.cache
  return { ...parts, cache: { scope, namespace, append: away, add: away } as never }
}

for (const [what, row, fate, preemptions] of [
  ['a row', 'a row', { committed: 1, quarantined: 0 }, 1],
  // It takes ten times as many steps.
  ['a refused row', REFUSED, { committed: 0, quarantined: 1 }, 0],
] as const) {
  test(`${what} that a closing writer and a drain bring at once is reported once`, async () => {
    await explore(
      async (orders) => {
        const [one, collector] = [partsOf(orders.actor('one')), partsOf(orders.actor('collector'))]
        await enterGrid(orders, [one, collector])
        const writer = writerOf(one)
        writer.append(row)
        await orders.alone(() => writer.flush())
        await orders.pass(3 * LAYER_MS)
        await orders.together({
          one: async () => assert.deepEqual(await writer.close(), { ...fate, inCache: 0, lost: 0 }),
          collector: () => drainAgain(collector),
        })
        assert.equal(committed(orders).length, fate.committed)
        const { issued, committed: sum, quarantined } = await report(orders)
        assert.deepEqual({ issued, committed: sum, quarantined }, { issued: 1, ...fate })
      },
      { preemptions },
    )
  })
}

test('what a drain has brought before is not committed again as its writer closes', async () => {
  await explore(async (orders) => {
    const one = partsOf(orders.actor('one'))
    await enterGrid(orders, [one])
    const writer = writerOf(one)
    writer.append('a row')
    await orders.alone(() => writer.flush())
    await orders.pass(3 * LAYER_MS)
    await orders.alone(() => drainAgain(one))
    await orders.together({ one: () => writer.close() })
    const { committed: sum, duplicate } = await report(orders)
    assert.deepEqual({ sum, duplicate }, { sum: 1, duplicate: 0 })
  })
})

test('close() reports as committed, or in the cache, only what is there', async () => {
  await explore(
    async (orders) => {
      const one = partsOf(orders.actor('one'))
      await enterGrid(orders, [one])
      const writer = writerOf(one)
      writer.append('first')
      await orders.alone(() => writer.flush())
      writer.append('second')
      let found = { committed: 0, quarantined: 0, inCache: 0, lost: 0 }
      await orders.together({ one: async () => void (found = await writer.close()) })
      assert.equal(found.committed + found.inCache + found.lost, 2)
      assert(found.committed <= committed(orders).length)
      await orders.pass(3 * LAYER_MS)
      await orders.alone(() => drainAgain(one))
      assert(committed(orders).length >= found.committed + found.inCache)
      assert.deepEqual(new Set(committed(orders)).size, committed(orders).length)
    },
    { preemptions: 0, failures: 1 },
  )
})

test('frames that a process commits directly at once come to SQL once', async () => {
  await explore(
    async (orders) => {
      const one = cacheless(partsOf(orders.actor('one')))
      await enterGrid(orders, [one])
      const writer = writerOf(one)
      const flush = (row: string): Promise<void> => {
        writer.append(row)
        return writer.flush()
      }
      await orders.together({
        one: () => Promise.all([flush('first'), flush('second'), writer.close()]),
      })
      assert.deepEqual(committed(orders), ['first', 'second'])
      assert.equal((await report(orders)).duplicate, 0)
    },
    { preemptions: 1 },
  )
})

test('frames in a namespace that is given up are committed once by their writer', async () => {
  await explore(
    async (orders) => {
      const [one, collector] = [partsOf(orders.actor('one')), partsOf(orders.actor('collector'))]
      await enterGrid(orders, [one, collector])
      const writer = writerOf(one)
      writer.append('first')
      await orders.alone(() => writer.flush())
      await orders.pass(3 * LAYER_MS)
      await orders.together({
        collector: () => drainAgain(collector),
        other: () => giveUpNamespace(orders),
      })
      writer.append('second')
      await orders.alone(() => writer.flush())
      await orders.pass(CONFIRM_SECONDS * 1000 + 3 * LAYER_MS)
      assert.deepEqual(committed(orders), ['first', 'second'])
      await orders.alone(() => writer.close())
    },
    { preemptions: 1 },
  )
})

test('a burst after each rest waits, all of it, until SQL says whose the keys are', async () => {
  await explore(
    async (orders) => {
      const one = partsOf(orders.actor('one'))
      await enterGrid(orders, [one])
      const { environment } = one
      // SQL answers in time.
      const clock = { ...one.clock, after: () => ({ cancel: () => undefined }) }
      const placer = placerOf({ ...one, environment: { ...environment, clock } })
      const sender = new Sender(WRITER)
      let sequence = 0
      const place = async (): Promise<void> => {
        const frame = held(sender.frame(sequence++), one)
        assert(await placer.place(frame, () => true, Infinity))
      }
      for (let rest = 1; rest <= 2; rest++) {
        const before = await orders.alone(() => one.cache.namespace.enter())
        await orders.alone(() => giveUpNamespace(orders))
        await orders.pass(MINUTE_MS)
        await orders.together({ one: () => Promise.all([place(), place(), place()]) })
        const { layers, keys } = one.record.grid!
        const key = before + keys.cell(layers.at(one.clock.now()), 0)
        assert.equal(await orders.store.get(key), undefined)
        assert.notEqual(one.cache.namespace.start, before)
      }
    },
    { preemptions: 1 },
  )
})

test('writers that make a cell at once both have their frame in it', async () => {
  await explore(async (orders) => {
    const [one, two] = [partsOf(orders.actor('one')), partsOf(orders.actor('two'))]
    await enterGrid(orders, [one, two])
    const place = (parts: Parts, id: Buffer) => async () => {
      const frame = held(new Sender(id).frame(0), parts)
      const placer = placerOf(parts)
      assert(await placer.place(frame, () => true, Infinity))
      assert.doesNotMatch(placer.why, /does not store/, 'no cell refuses it')
    }
    await orders.together({ one: place(one, WRITER), two: place(two, Buffer.alloc(16, 2)) })
    await orders.pass(3 * LAYER_MS)
    await orders.alone(() => drainAgain(one))
    assert.equal(committed(orders).length, 2)
  })
})

test('rows that are dropped while sums are reported are reported too, whatever fails', async () => {
  await explore(
    async (orders) => {
      const one = partsOf(orders.actor('one'))
      await enterGrid(orders, [one])
      const numbering: Numbering = new Numbering({
        ...one,
        measure: 0,
        database: NO_MIGRATION,
        ledger: {
          async enterTotals(name, totals) {
            const entered = one.ledger.enterTotals(name, totals)
            if (totals.dropped === 1) numbering.drop(1, false)
            await entered
          },
        },
      })
      numbering.drop(1, false)
      await orders.together({
        one: async () => {
          while (numbering.hasUnreported) await numbering.report().catch(() => undefined)
        },
      })
      assert.equal((await report(orders)).dropped, 2)
    },
    { failures: 1 },
  )
})
