// An adapter of another package: a cache written from scratch, with nothing but the docs, and a
// database that passes all on to another one. Both are tested with node:test alone.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { CacheError, sqlite } from 'wide-cache'
import { testCache, testDatabase } from 'wide-cache/testing'

const LONGEST_TTL = 30 * 24 * 3600
let now = 0

class ToyCache {
  scope = 'private'
  neverGoesBack = true
  #values = new Map()
  #closed = false

  async get(key) {
    const found = this.#find(key)
    return found && Buffer.from(found.value)
  }

  async getMany(keys) {
    const found = new Map()
    this.#check()
    for (const key of keys) {
      const value = await this.get(key)
      if (value) found.set(key, value)
    }
    return found
  }

  async set(key, value, ttlSeconds) {
    this.#checkStored(key, value, ttlSeconds)
    this.#values.set(key, {
      value: Buffer.from(value),
      until: now + ttlSeconds,
    })
    return true
  }

  async add(key, value, ttlSeconds) {
    this.#checkStored(key, value, ttlSeconds)
    return this.#find(key) ? false : this.set(key, value, ttlSeconds)
  }

  async append(key, value) {
    this.#checkStored(key, value, 1)
    const found = this.#find(key)
    if (found) found.value = Buffer.concat([found.value, value])
    return found !== undefined
  }

  async delete(key) {
    return this.#find(key) !== undefined && this.#values.delete(key)
  }

  async increment(key, delta = 1, onMiss) {
    this.#check(key)
    checkNumber(delta, 'delta')
    if (onMiss) {
      checkNumber(onMiss.initial, 'initial')
      checkTtl(onMiss.ttlSeconds)
    }
    const found = this.#find(key)
    if (!found) {
      if (!onMiss) return undefined
      await this.set(key, Buffer.from(String(onMiss.initial)), onMiss.ttlSeconds)
      return onMiss.initial
    }
    const text = found.value.toString('latin1')
    if (!/^\d+$/.test(text)) throw new CacheError('CACHE_REFUSED', 'no number')
    const sum = BigInt(text) + BigInt(delta)
    if (sum > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw new RangeError('past 2^53-1')
    }
    found.value = Buffer.from(String(sum))
    return Number(sum)
  }

  async close() {
    this.#closed = true
  }

  #find(key) {
    this.#check(key)
    const found = this.#values.get(key)
    if (found && found.until > now) return found
    this.#values.delete(key)
    return undefined
  }

  #check(key = 'any') {
    if (this.#closed) throw new CacheError('CACHE_CLOSED', 'closed')
    if (typeof key !== 'string') throw new TypeError('key: no string')
    if (!/^[\x21-\x7e]{1,250}$/.test(key)) {
      throw new RangeError('key: not allowed')
    }
  }

  #checkStored(key, value, ttlSeconds) {
    this.#check(key)
    if (!Buffer.isBuffer(value)) throw new TypeError('value: no Buffer')
    checkTtl(ttlSeconds)
  }
}

function checkNumber(number, what) {
  if (!Number.isSafeInteger(number) || number < 0) throw new RangeError(what)
}

function checkTtl(seconds) {
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > LONGEST_TTL) {
    throw new RangeError('ttl')
  }
}

function testSound() {
  testCache({
    test,
    name: 'toy cache',
    create: () => new ToyCache(),
    capabilities: { passSeconds: (seconds) => (now += seconds) },
  })

  const folder = mkdtempSync(join(tmpdir(), 'toy-database-'))
  after(() => rmSync(folder, { recursive: true }))
  let files = 0
  testDatabase({
    test,
    name: 'toy database',
    async create() {
      const file = join(folder, `${files++}.db`)
      return () => {
        const inner = sqlite(file)
        return {
          dialect: inner.dialect,
          maxStatementBytes: inner.maxStatementBytes,
          query: (sql, values) => inner.query(sql, values),
          transaction: (work) => inner.transaction(work),
          now: () => inner.now(),
          migrate: (parts) => inner.migrate(parts),
          close: () => inner.close(),
        }
      }
    },
    capabilities: { keepsNul: false },
  })
}

/** A cache that loses appends does not pass. */
function testBroken() {
  class Broken extends ToyCache {
    append = async () => true
  }
  testCache({
    test,
    name: 'broken',
    create: () => new Broken(),
    capabilities: { passSeconds() {} },
  })
}

if (process.argv.includes('--broken')) testBroken()
else testSound()
