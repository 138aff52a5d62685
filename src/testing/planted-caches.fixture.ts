/** What the planted caches have in common. */
import type { Cache } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import { testCache } from './cache.js'
import { type Fault, testPlanted } from './planted.fixture.js'

/** A fault of a cache. */
export type CacheFault = Fault<Cache>
type GetAndSet = Pick<Cache, 'get' | 'set'>
type OnMiss = { initial: number; ttlSeconds: number }

const MIB = 1024 * 1024
let elapsed = 0
const now = () => elapsed
const passSeconds = (seconds: number) => (elapsed += seconds * 1000)

/** Plants faults in caches of `memory()`. */
export function testPlantedMemory(
  faults: Readonly<Record<string, CacheFault>>,
  oddities: Readonly<Record<string, CacheFault>> = {},
): void {
  testPlanted<Cache>(
    'a cache',
    (register, wrap) =>
      testCache({
        test: register,
        name: 'planted',
        create: () => wrap(memory({ now })),
        capabilities: { itemLimitBytes: MIB, passSeconds },
      }),
    faults,
    { oddities },
  )
}

/** An `add` made of a read and a write. */
export const addByGetAndSet =
  (cache: GetAndSet) => async (key: string, value: Buffer, ttl: number) =>
    (await cache.get(key)) === undefined && cache.set(key, value, ttl)

/** An `append` made of a read and a write. */
export const appendByGetAndSet =
  (cache: GetAndSet, ttl: number) => async (key: string, value: Buffer) => {
    const old = await cache.get(key)
    return old !== undefined && cache.set(key, Buffer.concat([old, value]), ttl)
  }

/** An `increment` made of a read and a write. */
export const incrementByGetAndSet =
  (cache: GetAndSet) =>
  async (key: string, delta = 1, onMiss?: OnMiss) => {
    const old = await cache.get(key)
    const sum = old === undefined ? onMiss?.initial : Number(old) + delta
    if (sum !== undefined) await cache.set(key, Buffer.from(String(sum)), onMiss?.ttlSeconds ?? 60)
    return sum
  }
