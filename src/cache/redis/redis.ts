import { given, integer, onlyKnown } from '../../support/options.js'
import type { Cache, CacheError } from '../cache.js'
import { checkIncrement, checkKey, checkTtl, checkValue, safeSum } from '../checks.js'
import { getMany } from '../get-many.js'
import type { NamedServer } from '../in-flight.js'
import { CacheServer } from '../server.js'
import { namedServer, type RedisAddress, redisAddress } from './address.js'
import {
  checkClient,
  connectionOf,
  loadPackage,
  newConnection,
  type RedisClient,
  type RedisCommands,
  type RedisConnection,
} from './client.js'
import { RedisLink, RedisRefusal } from './link.js'

/** Options of {@link redis}. */
export interface RedisOptions {
  /** Milliseconds the server may take to answer, and to connect: 10 to 60,000. @default 500 */
  timeoutMs?: number | undefined
}

/** The site's own client, and options of {@link redis}. */
export interface RedisClientOptions extends RedisOptions {
  /**
   * A client of the package `redis`, version 5 or later, made by `createClient` or `createCluster`
   * and connected by its owner. It stays open when the cache is closed. Clients that may send a
   * request twice are refused: those of ioredis and of `createSentinel`.
   */
  client: RedisClient
}

/**
 * A cache on a Redis or Valkey server, by the package `redis`, version 5 or later, which is to be
 * installed beside this one.
 *
 * No request is ever sent twice. Once the server has timed out, requests to it fail at once, and
 * about each second one tries whether it is back. A connection is made when it is first needed. An
 * item takes 1 MiB at most, as in memcached.
 *
 * @example
 * createActivity({ cache: redis('redis://127.0.0.1:6379') })
 * @param server `redis://user:password@host:port/database`, `rediss://…?ssl-ca=file`
 * with TLS, `unix:///path?db=database`; or the site's own client
 * @throws TypeError, RangeError; Error if the package is not installed
 */
export function redis(server: string, options?: RedisOptions): Cache
/** A cache on the server, or on the cluster, that the site's own client is connected to. */
export function redis(server: RedisClientOptions): Cache
export function redis(server: string | RedisClientOptions, options: RedisOptions = {}): Cache {
  if (typeof server !== 'object' || server === null) {
    return openRedis(redisAddress('server', server), options)
  }
  onlyKnown('redis', server, ['client', 'timeoutMs'])
  const { client, timeoutMs } = given(server)
  checkClient(client)
  const connection = connectionOf(client)
  const name = connection.isCluster ? 'cluster' : 'client'
  const named = { kind: 'Redis', name, timeoutMs: checkedTimeout(timeoutMs), tls: undefined }
  return new Redis(named, () => connection)
}

/** {@link redis}, its URL read already. */
export function openRedis(address: RedisAddress, options: RedisOptions): Cache {
  onlyKnown('redis', options, ['timeoutMs'])
  const timeoutMs = checkedTimeout(given(options).timeoutMs)
  loadPackage()
  return new Redis(namedServer(address, timeoutMs), (onError) => newConnection(address, onError))
}

function checkedTimeout(timeoutMs = 500): number {
  return integer('timeoutMs', timeoutMs, 10, 60_000, 'milliseconds')
}

type Open = (onError: (error: unknown) => void) => RedisConnection

class Redis implements Cache {
  readonly scope = 'shared'
  /** A snapshot that is restored, or a replica that takes over, lacks the newest writes. */
  readonly neverGoesBack = false
  readonly #server: CacheServer<RedisLink>

  constructor(server: NamedServer, open: Open) {
    this.#server = new CacheServer(server, (owner) => new RedisLink({ server, owner, open }))
  }

  async get(key: string): Promise<Buffer | undefined> {
    checkKey(key)
    return this.#get(key)
  }

  async getMany(
    keys: readonly string[],
    onUnanswered?: (key: string, error: CacheError) => void,
  ): Promise<Map<string, Buffer>> {
    const distinct = [...new Set(keys)]
    distinct.forEach(checkKey)
    return getMany([{ keys: distinct, get: (key) => this.#get(key) }], onUnanswered)
  }

  async set(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    return this.#store(key, value, ttlSeconds, {})
  }

  async add(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    return this.#store(key, value, ttlSeconds, { condition: 'NX' })
  }

  async append(key: string, value: Buffer): Promise<boolean> {
    checkKey(key)
    checkValue(value)
    const piece = Buffer.from(value)
    const limit = String(MAX_ITEM_BYTES - key.length)
    const arguments_ = { keys: [key], arguments: [piece, limit] }
    const appended = await this.#stored(piece.length, (commands) =>
      commands.eval(APPEND, arguments_),
    )
    return appended === 1
  }

  async delete(key: string): Promise<boolean> {
    checkKey(key)
    return (await this.#send(0, (commands) => commands.del(key))) === 1
  }

  async increment(
    key: string,
    delta = 1,
    onMiss?: { initial: number; ttlSeconds: number },
  ): Promise<number | undefined> {
    checkKey(key)
    checkIncrement(delta, onMiss)
    const start = onMiss ? [String(onMiss.initial), String(onMiss.ttlSeconds)] : []
    const arguments_ = { keys: [key], arguments: [String(delta), ...start] }
    const sum = await this.#send(0, (commands) => commands.eval(INCREMENT, arguments_))
    return Buffer.isBuffer(sum) ? safeSum(key, BigInt(sum.toString('latin1'))) : undefined
  }

  async close(): Promise<void> {
    this.#server.close()
  }

  #send<T>(bytes: number, command: (commands: RedisCommands) => Promise<T>): Promise<T> {
    return this.#server.link(bytes).send(bytes, command)
  }

  async #get(key: string): Promise<Buffer | undefined> {
    const value = await this.#send(0, (commands) => commands.get(key))
    return Buffer.isBuffer(value) ? value : undefined
  }

  async #store(
    key: string,
    value: Buffer,
    ttlSeconds: number,
    condition: { condition?: 'NX' },
  ): Promise<boolean> {
    checkKey(key)
    checkValue(value)
    checkTtl(ttlSeconds)
    if (key.length + value.length > MAX_ITEM_BYTES) return false
    const copy = Buffer.from(value)
    const options = { expiration: { type: 'EX', value: ttlSeconds }, ...condition } as const
    const reply = await this.#stored(copy.length, (commands) => commands.set(key, copy, options))
    return reply !== null && reply !== undefined
  }

  /** Sends what takes memory. `undefined`: the server has none left. */
  async #stored(
    bytes: number,
    command: (commands: RedisCommands) => Promise<unknown>,
  ): Promise<unknown> {
    try {
      return await this.#send(bytes, command)
    } catch (error) {
      if (error instanceof RedisRefusal && error.outOfMemory) return undefined
      throw error
    }
  }
}

/** Bytes of a key and its value together: memcached's default, for which cells are made. */
const MAX_ITEM_BYTES = 1024 * 1024

/** Appends where there is a value, which Redis's own APPEND does not ask for. One key, atomic. */
const APPEND =
  "if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end " +
  "if redis.call('STRLEN', KEYS[1]) + #ARGV[1] > tonumber(ARGV[2]) then return 0 end " +
  "redis.call('APPEND', KEYS[1], ARGV[1]) return 1"

/**
 * Adds to a number in decimal digits, as memcached reads it. Numbers of Lua are exact up to 2^53;
 * a sum past that is not stored.
 */
const INCREMENT =
  "local value = redis.call('GET', KEYS[1]) " +
  'if not value then if not ARGV[2] then return false end ' +
  "redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) return ARGV[2] end " +
  "if #value > 20 or not string.find(value, '^%d+$') then " +
  "return redis.error_reply('ERR the value is no number') end " +
  "local sum = string.format('%.0f', tonumber(value) + tonumber(ARGV[1])) " +
  `if tonumber(sum) < ${2 ** 53} then redis.call('SET', KEYS[1], sum, 'KEEPTTL') end return sum`
