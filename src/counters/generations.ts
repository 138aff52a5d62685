import assert from 'node:assert/strict'
import { CacheError, MAX_TTL_SECONDS } from '../cache/cache.js'
import type { NamespacedCache } from '../connections/namespaced-cache.js'
import type { PreparedDatabase } from '../connections/prepared-database.js'
import { retried } from '../connections/retry.js'
import type { Queryable, SqlRow, Transaction } from '../database/database.js'
import { forUpdate } from '../database/dialect.js'
import { bytes, execute, raw, selectOne } from '../database/sql.js'
import { table } from '../database/table.js'
import type { Environment } from '../support/environment.js'

const COUNTERS = table('global_counters', ['name'], 'generation', 'shards')
const SHARDS = table(
  'global_counter_shards',
  ['name', 'shard'],
  ['generation', 'replace'],
  ['value', 'greatest'],
)
const GENERATIONS = table('global_counter_generations', ['name', 'generation'], 'token', 'seed')

/** Generations whose beginning is remembered, for increments that are delayed. */
const KEPT_GENERATIONS = 10_000

/**
 * The life of a counter in the cache under one key, from the seeding of that key to its loss.
 * Without a cache that counts, each transaction opens a generation, whose key nobody seeds.
 */
export interface CounterGeneration {
  readonly number: number
  /** Seeded before the generation could be seen by anybody, or never. */
  readonly key: string
  readonly shards: number
}

/**
 * The SQL side of a global counter: its generations, and its value persisted as the maximum over
 * shards. All shards are of the newest generation; a value is persisted into its own generation or
 * refused.
 */
export class CounterGenerations {
  readonly #database: PreparedDatabase
  readonly #cache: NamespacedCache | undefined
  readonly #environment: Environment
  readonly #name: string
  readonly #shards: number

  constructor(parts: {
    database: PreparedDatabase
    /** Never goes back. `undefined`: SQL alone, so no key is ever seeded. */
    cache: NamespacedCache | undefined
    environment: Environment
    name: string
    shards: number
  }) {
    this.#database = parts.database
    this.#cache = parts.cache
    this.#environment = parts.environment
    this.#name = parts.name
    this.#shards = parts.shards
  }

  /** The newest generation, if there ever was one. */
  async newest(): Promise<CounterGeneration | undefined> {
    return this.#newest(this.#database)
  }

  /**
   * Raises a random shard to `value`, in one statement; may be done again. `false`: the generation
   * is over, and nothing was done.
   */
  async persist(generation: CounterGeneration, value: number): Promise<boolean> {
    const shard = Math.floor(this.#environment.random() * generation.shards)
    const { affectedRows } = await this.#retried(
      () =>
        execute(this.#database)`UPDATE global_counter_shards SET value = CASE
        WHEN value < ${value} THEN ${value} ELSE value END WHERE name = ${this.#name}
        AND shard = ${shard} AND generation = ${generation.number}`,
    )
    return affectedRows === 1
  }

  /**
   * Returns the value that a finished generation ended with. All that was counted in it up to that
   * value, and nothing else, goes on in the next one.
   */
  async endOf(generation: CounterGeneration): Promise<number> {
    const { rows } = await this.#retried(
      () =>
        execute(this.#database)`SELECT seed FROM global_counter_generations
        WHERE name = ${this.#name} AND generation = ${generation.number + 1}`,
    )
    if (!rows[0]) {
      throw new Error(
        `wide-cache: counter "${this.#name}": generation ${generation.number + 1} is not ` +
          'remembered any more',
      )
    }
    return Number(rows[0]['seed'])
  }

  /** The greatest value persisted; 0 for a counter that never was incremented. */
  async persisted(): Promise<number> {
    const { rows } = await execute(this.#database)`SELECT COALESCE(MAX(value), 0) AS value
      FROM global_counter_shards WHERE name = ${this.#name}`
    return Number(rows[0]?.['value'])
  }

  /**
   * Opens the generation after `missed`, and counts `delta` in it, in one transaction. It locks the
   * counter and its shards, takes their maximum, or what the cache still has if that is more, seeds
   * the new key and only then commits. Returns the counter's new value; or `undefined` if another
   * has opened it already.
   *
   * @throws RangeError past 2^53-1; CacheError if the key was not seeded: nothing was counted.
   * DatabaseError.
   */
  open(missed: CounterGeneration | undefined, delta: number): Promise<number | undefined> {
    return this.#opened(delta, (newest) => newest?.number === missed?.number)
  }

  /**
   * The same, whichever the newest generation is. Returns the counter's new value.
   *
   * @throws as {@link open}
   */
  async openNext(delta: number): Promise<number> {
    const value = await this.#opened(delta, () => true)
    assert(value !== undefined, 'a generation has been opened')
    return value
  }

  async #opened(
    delta: number,
    isMeant: (newest: CounterGeneration | undefined) => boolean,
  ): Promise<number | undefined> {
    // Within the transaction SQL would wait for its locks.
    await this.#cache?.namespace.enter()
    const tokens: Buffer[] = []
    return this.#retried(() =>
      this.#database.retriedTransaction((tx) => this.#open(tx, isMeant, delta, tokens)),
    )
  }

  async #open(
    tx: Transaction,
    isMeant: (newest: CounterGeneration | undefined) => boolean,
    delta: number,
    tokens: Buffer[],
  ): Promise<number | undefined> {
    await COUNTERS.upsert(tx, [[this.#name, 0, this.#shards]])
    const counted = await this.#committed(tx, tokens)
    if (counted) return Number(counted['seed']) + delta
    const newest = await this.#newest(tx)
    if (!isMeant(newest)) return undefined
    const { rows } = await execute(tx)`SELECT value FROM global_counter_shards
      WHERE name = ${this.#name} ORDER BY shard${raw(forUpdate(tx.dialect))}`
    const persisted = rows.reduce((most, { value }) => Math.max(most, Number(value)), 0)
    const seed = Math.max(persisted, newest ? await this.#inCache(newest) : 0)
    const value = seed + delta
    this.refuse(seed, delta)
    const token = this.#environment.newId()
    tokens.push(token)
    if (this.#cache) await this.#seed(this.#cache, newest, token, value)
    await this.#enter(tx, (newest?.number ?? 0) + 1, Math.max(newest?.shards ?? 0, this.#shards), {
      token,
      seed,
      value,
    })
    return value
  }

  /** Seeds the key of a new generation, and ends that of the newest one. @throws CacheError */
  async #seed(
    cache: NamespacedCache,
    newest: CounterGeneration | undefined,
    token: Buffer,
    value: number,
  ): Promise<void> {
    // From here on the others find no number, and ask for the new generation.
    if (newest) await cache.delete(newest.key)
    if (await cache.add(this.#key(token), Buffer.from(String(value)), MAX_TTL_SECONDS)) return
    throw new CacheError(
      'CACHE_REFUSED',
      `wide-cache: counter "${this.#name}": the cache does not store its value (out of memory?)`,
    )
  }

  /** @throws RangeError if `value` and `delta` pass 2^53-1 */
  refuse(value: number, delta: number): void {
    if (Number.isSafeInteger(value + delta)) return
    throw new RangeError(
      `wide-cache: counter "${this.#name}" is at ${value}; with ${delta} it would pass ` +
        '2^53-1. Nothing was counted',
    )
  }

  /**
   * Returns the number in the cache, or 0 if there is none or it is past 2^53-1. Increments past
   * 2^53-1 were refused.
   */
  async #inCache({ key }: CounterGeneration): Promise<number> {
    const value = Number((await this.#cache?.get(key))?.toString('latin1') ?? 0)
    return Number.isSafeInteger(value) ? value : 0
  }

  /**
   * The generation of one of `tokens`: a try before this one whose commit stayed unanswered, and
   * yet was done.
   */
  async #committed(tx: Transaction, tokens: readonly Buffer[]): Promise<SqlRow | undefined> {
    if (tokens.length === 0) return undefined
    const { rows } = await execute(tx)`SELECT seed FROM global_counter_generations
      WHERE name = ${this.#name} AND token IN (${tokens})`
    return rows[0]
  }

  async #enter(
    tx: Transaction,
    generation: number,
    shards: number,
    { token, seed, value }: { token: Buffer; seed: number; value: number },
  ): Promise<void> {
    const bearer = Math.floor(this.#environment.random() * shards)
    await SHARDS.upsert(
      tx,
      Array.from({ length: shards }, (_, shard) => [
        this.#name,
        shard,
        generation,
        shard === bearer ? value : 0,
      ]),
    )
    await GENERATIONS.insert(tx, [[this.#name, generation, token, seed]])
    await execute(tx)`UPDATE global_counters SET generation = ${generation}, shards = ${shards}
      WHERE name = ${this.#name}`
    await execute(tx)`DELETE FROM global_counter_generations WHERE name = ${this.#name}
      AND generation <= ${generation - KEPT_GENERATIONS}`
  }

  async #newest(on: Pick<Queryable, 'query'>): Promise<CounterGeneration | undefined> {
    const columns = { generation: [Number, 'c.generation'], shards: Number, token: bytes } as const
    const found = await selectOne(on, columns)`FROM global_counters AS c
      JOIN global_counter_generations AS g ON g.name = c.name AND g.generation = c.generation
      WHERE c.name = ${this.#name}`
    if (!found) return undefined
    const { generation: number, token, shards } = found
    return { number, key: this.#key(token), shards }
  }

  #retried<T>(work: () => Promise<T>): Promise<T> {
    return retried(this.#environment, () => this.#database.now(), work)
  }

  #key(token: Buffer): string {
    return `global-counter:${this.#name}:${token.toString('hex')}`
  }
}
