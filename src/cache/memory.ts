import { systemClock } from '../support/clock.js'
import { given, integer, onlyKnown, optionalFunction } from '../support/options.js'
import { type Cache, CacheError } from './cache.js'
import { checkIncrement, checkKey, checkTtl, checkValue, safeSum } from './checks.js'

/** Options of {@link memory}. */
export interface MemoryOptions {
  /**
   * Bytes that all items together may take, 1 MiB to 1 TiB (1,048,576 to 1,099,511,627,776). Beyond
   * that the least recently used are evicted.
   * @default 67108864 (64 MiB)
   */
  maxBytes?: number | undefined
  /**
   * Bytes that one item's key and value together may take: 1,024 to 1,073,741,824 (1 GiB), and at
   * most half of maxBytes. @default 1048576 (1 MiB), or half of
   * maxBytes
   */
  maxItemBytes?: number | undefined
  /** A clock in milliseconds that only goes forward, for tests. @default performance.now */
  now?: (() => number) | undefined
}

/**
 * A cache in this process's own memory, with memcached's semantics: for development, tests and
 * sites of one process. Other processes do not see its values, and they are lost when the process
 * ends.
 *
 * Values are copied in and out. Each operation is carried out at its call, before the promise is
 * returned; only `getMany` lets the process do other work after each 4 MiB that it has copied.
 *
 * @throws TypeError, RangeError
 */
export function memory(options: MemoryOptions = {}): Cache {
  onlyKnown('memory', options, ['maxBytes', 'maxItemBytes', 'now'])
  const { now = systemClock.elapsed, ...sizes } = given(options)
  const maxBytes = integer('maxBytes', sizes.maxBytes ?? 64 * MIB, MIB, 1024 * 1024 * MIB, 'bytes')
  const half = Math.floor(maxBytes / 2)
  const maxItemBytes = integer(
    'maxItemBytes',
    sizes.maxItemBytes ?? Math.min(MIB, half),
    1024,
    Math.min(half, 1024 * MIB),
    'bytes (at most half of maxBytes)',
  )
  return new Memory(
    maxBytes,
    maxItemBytes,
    optionalFunction('now', now, 'a function that returns milliseconds'),
  )
}

/**
 * A value and the room behind it: appending doubles the room, so that its cost does not grow with
 * the value.
 */
interface Item {
  room: Buffer
  length: number
  readonly expiresAt: number
}

class Memory implements Cache {
  readonly scope = 'private'
  readonly neverGoesBack = true
  readonly #maxBytes: number
  readonly #maxItemBytes: number
  readonly #now: () => number
  /** The least recently used first. */
  readonly #items = new Map<string, Item>()
  #bytes = 0
  #closed = false

  constructor(maxBytes: number, maxItemBytes: number, now: () => number) {
    this.#maxBytes = maxBytes
    this.#maxItemBytes = maxItemBytes
    this.#now = now
  }

  async get(key: string): Promise<Buffer | undefined> {
    return this.#copy(key)
  }

  async getMany(keys: readonly string[]): Promise<Map<string, Buffer>> {
    const found = new Map<string, Buffer>()
    let pauseAt = PAUSE_BYTES
    let bytes = 0
    for (const key of keys) {
      const value = this.#copy(key)
      if (!value) continue
      found.set(key, value)
      bytes += value.length
      if (bytes < pauseAt) continue
      pauseAt = bytes + PAUSE_BYTES
      await new Promise<void>((resolve) => void setImmediate(resolve))
    }
    return found
  }

  async set(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    this.#use(key)
    checkValue(value)
    checkTtl(ttlSeconds)
    this.#remove(key)
    return this.#store(key, value, this.#now() + ttlSeconds * 1000)
  }

  async add(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    const item = this.#use(key)
    checkValue(value)
    checkTtl(ttlSeconds)
    return !item && this.#store(key, value, this.#now() + ttlSeconds * 1000)
  }

  async append(key: string, value: Buffer): Promise<boolean> {
    const item = this.#use(key)
    checkValue(value)
    if (!item) return false
    const length = item.length + value.length
    if (key.length + length > this.#maxItemBytes) return false
    if (length > item.room.length) {
      const room = Buffer.allocUnsafeSlow(
        Math.min(Math.max(2 * item.room.length, length), this.#maxItemBytes - key.length),
      )
      item.room.copy(room, 0, 0, item.length)
      this.#bytes += room.length - item.room.length
      item.room = room
    }
    value.copy(item.room, item.length)
    item.length = length
    this.#evict()
    return true
  }

  async delete(key: string): Promise<boolean> {
    const there = this.#use(key) !== undefined
    this.#remove(key)
    return there
  }

  async increment(
    key: string,
    delta = 1,
    onMiss?: { initial: number; ttlSeconds: number },
  ): Promise<number | undefined> {
    const item = this.#use(key)
    checkIncrement(delta, onMiss)
    if (!item) {
      if (!onMiss) return undefined
      this.#store(key, Buffer.from(String(onMiss.initial)), this.#now() + onMiss.ttlSeconds * 1000)
      return onMiss.initial
    }
    const stored = item.room.toString('latin1', 0, Math.min(item.length, MAX_DIGITS + 1))
    if (!NUMBER.test(stored) || BigInt(stored) > MAX_NUMBER) {
      throw new CacheError(
        'CACHE_REFUSED',
        `wide-cache: the value at cache key "${key}" is no number that can be incremented: ` +
          'delete it',
      )
    }
    const sum = BigInt.asUintN(64, BigInt(stored) + BigInt(delta))
    this.#remove(key)
    this.#store(key, Buffer.from(String(sum)), item.expiresAt)
    return safeSum(key, sum)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#items.clear()
  }

  /**
   * Checks the key, finds the item and makes it the most recently used. Removes an item that has
   * expired.
   */
  #use(key: string): Item | undefined {
    if (this.#closed) {
      throw new CacheError(
        'CACHE_CLOSED',
        'wide-cache: the memory cache is not asked: it has been closed',
      )
    }
    checkKey(key)
    const item = this.#items.get(key)
    if (!item) return undefined
    if (item.expiresAt <= this.#now()) {
      this.#remove(key)
      return undefined
    }
    this.#items.delete(key)
    this.#items.set(key, item)
    return item
  }

  #copy(key: string): Buffer | undefined {
    const item = this.#use(key)
    return item && Buffer.from(item.room.subarray(0, item.length))
  }

  #store(key: string, value: Buffer, expiresAt: number): boolean {
    if (key.length + value.length > this.#maxItemBytes) return false
    const room = Buffer.allocUnsafeSlow(value.length)
    value.copy(room)
    this.#items.set(key, { room, length: value.length, expiresAt })
    this.#bytes += room.length + key.length + ITEM_OVERHEAD_BYTES
    this.#evict()
    return true
  }

  #remove(key: string): void {
    const item = this.#items.get(key)
    if (!item) return
    this.#items.delete(key)
    this.#bytes -= item.room.length + key.length + ITEM_OVERHEAD_BYTES
  }

  #evict(): void {
    for (const key of this.#items.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.#remove(key)
    }
  }
}

const MIB = 1024 * 1024

/** Bytes that `getMany` copies, in some milliseconds, before the process does other work. */
const PAUSE_BYTES = 4 * MIB

/** Estimated bytes of an item beside its key and value: the Map's entry, the objects. */
const ITEM_OVERHEAD_BYTES = 200

/** memcached's numbers are unsigned and of 64 bits. */
const MAX_NUMBER = 2n ** 64n - 1n
const MAX_DIGITS = 20
const NUMBER = /^[0-9]{1,20}$/
