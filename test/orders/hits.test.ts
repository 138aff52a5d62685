import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEPT_HOURS, removeHours } from '../../src/hits/history.js'
import { removeOldHits } from '../../src/hits/retention.js'
import { DatabaseError } from '../../src/database/database.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import { explore } from '../simulated-world/explorer.js'
import { EPOCH } from '../simulated-world/world.js'
import { wrapped } from '../servers/wrapped.js'
import { BOUNDS, hit, NAME, openHits, periodsOf } from './hits.js'
import { UTC } from '../../src/support/calendar.js'

test('hits committed while their item is renamed stay, on the old item and the new', async () => {
  const moved = new Set<number>()
  await explore(async (orders) => {
    const [writer, mover] = [openHits(orders, 'writer'), openHits(orders, 'mover')]
    await orders.alone(() => writer.commit([hit('old'), hit('new')]))
    let gone = 0
    await orders.together({
      writer: () => writer.commit([hit('old'), hit('new'), hit('old')]),
      mover: async () => (gone = await mover.move('old', 'new')),
    })
    const expected = [3 - gone, 2 + gone]
    assert.deepEqual(await orders.alone(() => mover.counts('old', 'new')), expected)
    for (const [index, item] of ['old', 'new'].entries()) {
      const periods = expected[index] === 0 ? [] : [expected[index]]
      assert.deepEqual(periodsOf(orders, item), { hours: periods, days: periods }, item)
    }
    moved.add(gone)
  }, BOUNDS)
  assert.deepEqual(moved, new Set([1, 3]))
})

test('an item that two rename at once gives its hits to one of them', async () => {
  const found = new Set<string>()
  await explore(async (orders) => {
    const [one, two] = [openHits(orders, 'one'), openHits(orders, 'two')]
    await orders.alone(() => one.commit([hit('old'), hit('old')]))
    const moved: number[] = []
    await orders.together({
      one: async () => (moved[0] = await one.move('old', 'one')),
      two: async () => (moved[1] = await two.move('old', 'two')),
    })
    assert.deepEqual(await orders.alone(() => one.counts('old', 'one', 'two')), [0, ...moved])
    found.add(moved.join())
  }, BOUNDS)
  assert.deepEqual(found, new Set(['2,0', '0,2']))
})

test('an item that one deletes while another one renames into it loses no hit unseen', async () => {
  await explore(async (orders) => {
    const [one, two] = [openHits(orders, 'one'), openHits(orders, 'two')]
    await orders.alone(() => one.commit([hit('a'), hit('b'), hit('b')]))
    let deleted = 0
    await orders.together({
      one: async () => (deleted = await one.move('b')),
      two: async () => assert.equal(await two.move('a', 'b'), 1),
    })
    const left = 3 - deleted
    assert.deepEqual(await orders.alone(() => one.counts('a', 'b')), [0, left])
    const periods = left === 0 ? [] : [left]
    assert.deepEqual(periodsOf(orders, 'b'), { hours: periods, days: periods })
  }, BOUNDS)
})

test('counts are of one moment, while hits are moved', async () => {
  const seen = new Set<string>()
  await explore(async (orders) => {
    const [writer, reader] = [openHits(orders, 'writer'), openHits(orders, 'reader')]
    await orders.alone(() => writer.commit([hit('old'), hit('new')]))
    await orders.together({
      writer: async () => {
        await writer.move('old', 'new')
      },
      reader: async () => seen.add((await reader.counts('old', 'new')).join()),
    })
  }, BOUNDS)
  assert.deepEqual(seen, new Set(['1,1', '0,2']))
})

test('a viewer whom two commits bring counts once, at the hour of the first', async () => {
  await explore(async (orders) => {
    const [one, two] = [openHits(orders, 'one'), openHits(orders, 'two')]
    await orders.together({
      one: () => one.commit([hit('a', 1), hit('a', 2)]),
      two: () => two.commit([hit('a', 2), hit('a', 3)]),
    })
    assert.deepEqual(await orders.alone(() => one.counts('a')), [3])
    assert.deepEqual(periodsOf(orders, 'a'), { hours: [3], days: [3] })
  }, BOUNDS)
})

test('a viewing stays known for as long as it is kept, whatever is removed beside it', async () => {
  await explore(async (orders) => {
    const [writer, collector] = [openHits(orders, 'writer'), openHits(orders, 'collector')]
    const { database } = orders.actor('collector')
    await orders.alone(() => writer.commit([hit('a', 1), hit('old', 1, EPOCH - 2 * DAY_MS)]))
    await orders.together({
      writer: () => writer.commit([hit('a', 1), hit('a', 2), hit('older', 2, EPOCH - 9 * DAY_MS)]),
      collector: async () => {
        await removeOldHits(database, NAME, EPOCH - DAY_MS)
        await removeHours(database, NAME, EPOCH, UTC)
      },
    })
    await orders.alone(() => collector.commit([hit('a', 1), hit('a', 2)]))
    assert.deepEqual(await orders.alone(() => writer.counts('a', 'old', 'older')), [2, 1, 1])
    assert.deepEqual(periodsOf(orders, 'a'), { hours: [2], days: [2] })
    assert.deepEqual(periodsOf(orders, 'old'), { hours: [1], days: [1] })
    assert.deepEqual(periodsOf(orders, 'older').days, [1], 'a day stays')
  }, BOUNDS)
})

test('hours are gone when their removal has ended', async () => {
  await explore(async (orders) => {
    const collector = orders.actor('collector')
    const hits = openHits(orders, 'collector')
    await orders.alone(() => hits.commit([hit('old', 1, EPOCH - 9 * DAY_MS)]))
    await orders.together({
      collector: async () => {
        await removeHours(collector.database, NAME, EPOCH, UTC)
        assert.deepEqual(orders.look('SELECT * FROM hits_hours'), [])
      },
    })
  }, BOUNDS)
})

for (const category of ['lock', 'capacity'] as const) {
  const outcome = category === 'lock' ? 'are left for the next run' : 'stay, and the error is told'
  test(`viewings that cannot be removed (${category}) ${outcome}`, async () => {
    await explore(async (orders) => {
      const hits = openHits(orders, 'collector')
      await orders.alone(() => hits.commit([hit('a', 1, EPOCH - 2 * DAY_MS)]))
      const error = new DatabaseError('CODE', category, 'fails')
      const real = orders.actor('collector').database
      const database = wrapped(real, {
        query: async (sql, values) => {
          if (sql.startsWith('DELETE FROM hits_viewings')) throw error
          return real.query(sql, values)
        },
      })
      await orders.together({
        collector: async () => {
          const removal = removeOldHits(database, NAME, EPOCH)
          if (category === 'lock') assert.equal(await removal, false)
          else await assert.rejects(removal, error)
        },
      })
      assert.equal(orders.look('SELECT * FROM hits_viewings').length, 1)
    }, BOUNDS)
  })
}

test('hours that are kept stay when older ones are removed, one by one', async () => {
  await explore(async (orders) => {
    const { database } = orders.actor('collector')
    const hits = openHits(orders, 'collector')
    const kept = EPOCH - KEPT_HOURS * HOUR_MS
    const times = [kept, kept - HOUR_MS, kept - 2 * HOUR_MS]
    await orders.alone(() => hits.commit(times.map((time, n) => hit('a', n, time))))
    let [runs, left] = [1, 0]
    await orders.together({
      collector: async () => {
        for (; await removeHours(database, NAME, EPOCH, UTC); runs++) {
          left = orders.look('SELECT hour FROM hits_hours').length
        }
      },
    })
    assert.deepEqual([runs, left], [2, 2])
    const hours = orders.look('SELECT hour FROM hits_hours')
    assert.deepEqual(hours, [{ hour: Math.floor(kept / HOUR_MS) }])
  }, BOUNDS)
})
