import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cache } from '../../src/cache/cache.js'
import type { Queryable } from '../../src/database/database.js'
import { forUpdate } from '../../src/database/dialect.js'
import { sleep } from '../../src/support/clock.js'
import { explore, type Orders } from '../simulated-world/explorer.js'

const ONE = Buffer.from('1')

/** Runs two actors that do the same, in all orders, and returns their traces. */
async function traces(
  work: (cache: Cache, actor: string) => Promise<unknown>,
  bounds: { preemptions: number; failures?: number },
): Promise<string[]> {
  const all: string[] = []
  const count = await explore(async (orders) => {
    await orders.together({
      a: () => work(orders.actor('a').cache, 'a'),
      b: () => work(orders.actor('b').cache, 'b'),
    })
    all.push(orders.trace.filter((line) => !line.endsWith('begins')).join(', '))
  }, bounds)
  // The explorer has gone through the orders without preemptions before.
  return all.slice(-count)
}

test('without preemptions each actor runs to its end, in either order', async () => {
  const found = await traces(
    async (cache) => {
      await cache.set('x', ONE, 60)
      await cache.set('y', ONE, 60)
    },
    { preemptions: 0 },
  )
  assert.deepEqual(
    new Set(found),
    new Set([
      'a: cache set x, a: cache set y, b: cache set x, b: cache set y',
      'b: cache set x, b: cache set y, a: cache set x, a: cache set y',
    ]),
  )
})

test('any actor may begin, whoever has gone on before', async () => {
  const first = new Set<string>()
  await explore(
    async (orders) => {
      const begin = (name: string) => () => orders.actor(name).cache.set(name, ONE, 60)
      await orders.alone(begin('a'))
      await orders.together({ a: begin('a'), b: begin('b') })
      first.add(orders.trace[0]!)
    },
    { preemptions: 0 },
  )
  assert.deepEqual(first, new Set(['a: begins', 'b: begins']))
})

test('a preemption lets another actor go on, or holds an answer until it has', async () => {
  const found = await traces((cache) => cache.set('x', ONE, 60), { preemptions: 1 })
  for (const order of [
    'a: cache set x, b: cache set x',
    'b: cache set x, a: cache set x',
    'a: cache set x, held, b: cache set x, a: cache set x, now answered',
    'b: cache set x, held, a: cache set x, b: cache set x, now answered',
  ]) {
    assert(found.includes(order), order)
  }
})

test('an actor is not stopped where no other one can notice', async () => {
  const found = await traces(
    async (cache, actor) => {
      await cache.set(`own:${actor}`, ONE, 60)
      await cache.get('read-by-both')
    },
    { preemptions: 2 },
  )
  assert.equal(found.length, 2)
})

test('a failed request is carried out or not, and its actor hears of it either way', async () => {
  const values = new Set<string>()
  await explore(
    async (orders) => {
      const { cache } = orders.actor('a')
      let heard = 'done'
      await orders.together({
        a: () => cache.set('x', ONE, 60).catch((error) => (heard = error.code)),
      })
      values.add(`${heard}, ${(await orders.store.get('x')) ?? 'nothing'}`)
    },
    { failures: 1 },
  )
  assert.deepEqual(values, new Set(['done, 1', 'CACHE_TIMEOUT, nothing', 'CACHE_TIMEOUT, 1']))
})

test('a timer ends when nothing else can come, or earlier for a preemption', async () => {
  const seen = new Set<string>()
  for (const preemptions of [0, 1]) {
    await explore(
      async (orders) => {
        const { cache, environment } = orders.actor('a')
        const late = sleep(environment.clock, 1_000).then(() => 'late')
        await orders.together({
          a: async () => seen.add(`${preemptions}: ${await Promise.race([cache.get('x'), late])}`),
        })
      },
      { preemptions },
    )
  }
  assert.deepEqual(seen, new Set(['0: undefined', '1: undefined', '1: late']))
})

/** Adds 1 to the number of the only row: reads it with `clause`, then writes it. */
async function increment(tx: Queryable, clause: string): Promise<void> {
  const { rows } = await tx.query(`SELECT number FROM wide_cache_marks${clause}`)
  await tx.query('UPDATE wide_cache_marks SET number = ?', [Number(rows[0]!['number']) + 1])
}

async function twoIncrements(orders: Orders, clause: string): Promise<void> {
  orders.look("INSERT INTO wide_cache_marks VALUES (0, x'01')")
  const one = (name: string) => () =>
    orders.actor(name).database.transaction((tx) => increment(tx, clause))
  await orders.together({ a: one('a'), b: one('b') })
  assert.equal(orders.look('SELECT number FROM wide_cache_marks')[0]!['number'], 2)
}

test('transactions that read for update exclude each other, plain reads do not', async () => {
  const orders = await explore((run) => twoIncrements(run, forUpdate('sqlite')))
  assert(orders > 2)
  await assert.rejects(
    explore((run) => twoIncrements(run, '')),
    /Order \d+:\n {2}a: begins\n(?:.*\n)+.*COMMIT/,
  )
})

test('a statement that fails ends its transaction, and nothing of it stays', async () => {
  const left = new Set<unknown>()
  await explore(
    async (orders) => {
      const { database } = orders.actor('a')
      await orders.together({
        a: () =>
          database
            .transaction(async (tx) => {
              await tx.query("INSERT INTO wide_cache_marks VALUES (1, x'01')").catch(() => 0)
              await tx.query("INSERT INTO wide_cache_marks VALUES (2, x'02')").catch(() => 0)
            })
            .catch(() => undefined),
      })
      left.add(orders.look('SELECT COUNT(*) AS n FROM wide_cache_marks')[0]!['n'])
    },
    { failures: 1 },
  )
  assert.deepEqual(left, new Set([2, 0]))
})

test('actors that all wait, and a law that is too large, are told', async () => {
  await assert.rejects(
    explore((orders) => orders.together({ a: () => new Promise(() => undefined) })),
    /nothing can come/,
  )
  const many = async (cache: Cache): Promise<void> => {
    for (let i = 0; i < 9; i++) await cache.set('x', ONE, 60)
  }
  await assert.rejects(
    explore(
      (orders) =>
        orders.together({
          a: () => many(orders.actor('a').cache),
          b: () => many(orders.actor('b').cache),
        }),
      { orders: 20 },
    ),
    /more than 20 orders/,
  )
})
