import { given, integer, onlyKnown } from '../../support/options.js'
import type { Cache, CacheError } from '../cache.js'
import { checkIncrement, checkKey, checkTtl, checkValue, safeSum } from '../checks.js'
import { getMany } from '../get-many.js'
import type { LinkOwner } from '../in-flight.js'
import { CacheServer } from '../server.js'
import { type MemcachedAddress, memcachedAddresses } from './addresses.js'
import { MemcachedLink, OK, refusal } from './link.js'
import { Ring } from './ring.js'

/** Options of {@link memcached}. */
export interface MemcachedOptions {
  /** Milliseconds a server may take to answer, and to connect: 10 to 60,000. @default 500 */
  timeoutMs?: number | undefined
}

/**
 * A cache on one or more memcached servers (binary protocol, memcached 1.4 to 1.6; over several
 * servers keys are spread by consistent hashing, so every process must be given the same names, in
 * any order).
 *
 * No request is ever sent twice. A server that does not answer costs nothing but the keys it holds:
 * once it has timed out, requests to it fail at once, and about each second one tries whether it is
 * back. Connections are made when they are first needed. They keep the process alive only while a
 * request waits for its answer.
 *
 * @param servers `host:port,host:port` or `memcached://host:port,host:port`; with `user:password@`
 * before the first (or any), or with MEMCACHE_USERNAME and MEMCACHE_PASSWORD in the environment,
 * SASL PLAIN is spoken
 * @throws TypeError, RangeError
 */
export function memcached(servers: string, options: MemcachedOptions = {}): Cache {
  return openMemcached(memcachedAddresses('servers', servers), options)
}

/** {@link memcached}, its servers read already. */
export function openMemcached(
  addresses: readonly MemcachedAddress[],
  options: MemcachedOptions,
): Cache {
  onlyKnown('memcached', options, ['timeoutMs'])
  const { timeoutMs = 500 } = given(options)
  return new Memcached(addresses, integer('timeoutMs', timeoutMs, 10, 60_000, 'milliseconds'))
}

type MemcachedServer = CacheServer<MemcachedLink>

class Memcached implements Cache {
  readonly scope = 'shared'
  /** It restores nothing, unless an operator has it begin with an old memory file. */
  readonly neverGoesBack = true
  readonly #servers: ReadonlyMap<string, MemcachedServer>
  readonly #ring: Ring

  constructor(addresses: readonly MemcachedAddress[], timeoutMs: number) {
    this.#servers = new Map(
      addresses.map((address) => {
        const { name } = address
        const connect = (owner: LinkOwner) => new MemcachedLink(address, timeoutMs, owner)
        return [name, new CacheServer({ kind: 'memcached', name, timeoutMs, tls: false }, connect)]
      }),
    )
    this.#ring = new Ring([...this.#servers.keys()])
  }

  async get(key: string): Promise<Buffer | undefined> {
    checkKey(key)
    return this.#get(this.#serverFor(key), key)
  }

  async getMany(
    keys: readonly string[],
    onUnanswered?: (key: string, error: CacheError) => void,
  ): Promise<Map<string, Buffer>> {
    const keysOf = new Map<MemcachedServer, string[]>()
    for (const key of new Set(keys)) {
      checkKey(key)
      const server = this.#serverFor(key)
      const others = keysOf.get(server)
      if (others) others.push(key)
      else keysOf.set(server, [key])
    }
    const lists = [...keysOf].map(([server, keys]) => ({
      keys,
      get: (key: string) => this.#get(server, key),
    }))
    return getMany(lists, onUnanswered)
  }

  async set(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    return this.#store(SET, key, storeExtras(ttlSeconds), value)
  }

  async add(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    return this.#store(ADD, key, storeExtras(ttlSeconds), value)
  }

  async append(key: string, value: Buffer): Promise<boolean> {
    return this.#store(APPEND, key, '', value)
  }

  async delete(key: string): Promise<boolean> {
    checkKey(key)
    const server = this.#serverFor(key)
    const response = await server.link(0).send(DELETE, key, '', '')
    if (response.header.status === OK) return true
    if (response.header.status === NOT_FOUND) return false
    throw refusal(server.name, response)
  }

  async increment(
    key: string,
    delta = 1,
    onMiss?: { initial: number; ttlSeconds: number },
  ): Promise<number | undefined> {
    checkKey(key)
    checkIncrement(delta, onMiss)
    const extras = Buffer.alloc(20)
    extras.writeBigUInt64BE(BigInt(delta), 0)
    extras.writeBigUInt64BE(BigInt(onMiss?.initial ?? 0), 8)
    extras.writeUInt32BE(onMiss?.ttlSeconds ?? MISS_IS_AN_ERROR, 16)
    const server = this.#serverFor(key)
    for (let tries = 1; ; tries++) {
      const response = await server.link(0).send(INCREMENT, key, extras, '')
      if (response.header.status === OK && response.val.length === 8) {
        return safeSum(key, response.val.readBigUInt64BE())
      }
      if (response.header.status === NOT_FOUND) return undefined
      // Another client planted its initial number a moment earlier; nothing has been added yet.
      const raced = response.header.status === NOT_STORED && tries < INCREMENT_TRIES
      if (!raced) throw refusal(server.name, response)
    }
  }

  async close(): Promise<void> {
    for (const server of this.#servers.values()) server.close()
  }

  #serverFor(key: string): MemcachedServer {
    const server = this.#servers.get(this.#ring.nameFor(key))
    if (!server) throw new Error('wide-cache: the ring names a server that is not there')
    return server
  }

  async #get(server: MemcachedServer, key: string): Promise<Buffer | undefined> {
    const response = await server.link(0).send(GET, key, '', '')
    if (response.header.status === OK) return response.val
    if (response.header.status === NOT_FOUND) return undefined
    throw refusal(server.name, response)
  }

  async #store(opcode: number, key: string, extras: Buffer | '', value: Buffer): Promise<boolean> {
    checkKey(key)
    checkValue(value)
    const server = this.#serverFor(key)
    const response = await server.link(value.length).send(opcode, key, extras, value)
    if (response.header.status === OK) return true
    if (NOT_STORED_STATUSES.has(response.header.status)) return false
    throw refusal(server.name, response)
  }
}

/** Only a client that meets the key's eviction or deletion each time would need more. */
const INCREMENT_TRIES = 3

const GET = 0x00
const SET = 0x01
const ADD = 0x02
const DELETE = 0x04
const INCREMENT = 0x05
const APPEND = 0x0e

const NOT_FOUND = 0x01
const EXISTS = 0x02
const TOO_LARGE = 0x03
const NOT_STORED = 0x05
const OUT_OF_MEMORY = 0x82
const NOT_STORED_STATUSES: ReadonlySet<number> = new Set([
  NOT_FOUND,
  EXISTS,
  TOO_LARGE,
  NOT_STORED,
  OUT_OF_MEMORY,
])

/** As expiry of an increment: a miss stores nothing. */
const MISS_IS_AN_ERROR = 0xffffffff

function storeExtras(ttlSeconds: number): Buffer {
  checkTtl(ttlSeconds)
  const extras = Buffer.alloc(8)
  extras.writeUInt32BE(ttlSeconds, 4)
  return extras
}
