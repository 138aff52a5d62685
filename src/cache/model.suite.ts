/**
 * Random operations on a cache, compared with what they do to a plain Map: a property of all
 * adapters of this repository, beside the suite of `wide-cache/testing`.
 */
import assert from 'node:assert/strict'
import fc from '../../test/fast-check.js'
import type { RegisterTest } from '../testing/runner.js'
import type { Cache } from './cache.js'

const MAX = Number.MAX_SAFE_INTEGER
let keys = 0

/** Registers the test, its name beginning with `name`. */
export function testCacheModel(
  test: RegisterTest,
  name: string,
  create: () => Cache,
  runs = 50,
): void {
  test(`${name}: any sequence of operations does what it does to a plain Map`, async () => {
    const cache = create()
    const key = `model:${process.pid}:${Date.now()}:${keys++}`
    let run = 0
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.array(operation, { minLength: 1, maxLength: 40 }),
          async (operations) => {
            const real = `${key}:${run++}:`
            const model = new Map<string, string>()
            for (const step of operations) {
              assert.deepEqual(
                await inCache(cache, real, step),
                inModel(model, step),
                JSON.stringify(step),
              )
            }
            const left = await cache.getMany(NAMES.map((one) => real + one))
            assert.deepEqual(
              new Map(
                [...left].map(([one, value]) => [one.slice(real.length), value.toString('latin1')]),
              ),
              model,
            )
          },
        ),
        { numRuns: runs },
      )
    } finally {
      await cache.close()
    }
  })
}

function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

const NAMES = ['a', 'b', 'c']
type Operation =
  | { do: 'get' | 'delete'; name: string }
  | { do: 'set' | 'add' | 'append'; name: string; value: string }
  | { do: 'increment'; name: string; delta: number; initial: number | undefined }

const anyName = fc.constantFrom(...NAMES)
/**
 * Numbers for the values, so that increments find some. Texts that are neither a plain number nor
 * plainly none (` 7`, `+7`, `007`) are left out: the port says nothing about them, and memcached
 * takes some of them.
 */
const numberOf = fc.integer({ min: 1 })
const valueOf = fc.oneof(fc.stringMatching(/^[a-z]{0,20}$/), numberOf.map(String))
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ do: fc.constantFrom('get', 'delete'), name: anyName }),
  fc.record({ do: fc.constantFrom('set', 'add', 'append'), name: anyName, value: valueOf }),
  fc.record({
    do: fc.constant('increment' as const),
    name: anyName,
    delta: fc.nat(),
    initial: fc.option(numberOf, { nil: undefined }),
  }),
)

async function inCache(cache: Cache, prefix: string, step: Operation): Promise<unknown> {
  const key = prefix + step.name
  switch (step.do) {
    case 'get':
      return (await cache.get(key))?.toString('latin1')
    case 'delete':
      return cache.delete(key)
    case 'append':
      return cache.append(key, bytes(step.value))
    case 'set':
    case 'add':
      return cache[step.do](key, bytes(step.value), 60)
    case 'increment': {
      const onMiss =
        step.initial === undefined ? undefined : { initial: step.initial, ttlSeconds: 60 }
      return cache.increment(key, step.delta, onMiss).catch(async () => {
        // Caches differ in what a number past 2^53-1 leaves behind.
        await cache.delete(key)
        return 'rejects'
      })
    }
  }
}

function inModel(model: Map<string, string>, step: Operation): unknown {
  const stored = model.get(step.name)
  switch (step.do) {
    case 'get':
      return stored
    case 'delete':
      return model.delete(step.name)
    case 'set':
      model.set(step.name, step.value)
      return true
    case 'add':
      if (stored === undefined) model.set(step.name, step.value)
      return stored === undefined
    case 'append':
      if (stored !== undefined) model.set(step.name, stored + step.value)
      return stored !== undefined
    case 'increment': {
      if (stored === undefined && step.initial === undefined) return undefined
      const sum = /^\d*$/.test(stored ?? '')
        ? BigInt(stored ?? step.initial ?? 0) + BigInt(stored === undefined ? 0 : step.delta)
        : undefined
      if (stored === '' || sum === undefined || sum > BigInt(MAX)) {
        model.delete(step.name)
        return 'rejects'
      }
      model.set(step.name, String(sum))
      return Number(sum)
    }
  }
}
