import type { PreparedDatabase } from '../connections/prepared-database.js'
import { answered } from '../connections/retry.js'
import type { Queryable, Transaction } from '../database/database.js'
import { forUpdate, type RowUpdate } from '../database/dialect.js'
import { bytes, execute, raw, selectOne, sql } from '../database/sql.js'
import { table } from '../database/table.js'
import type { Environment } from '../support/environment.js'
import { Lane } from './lane.js'

const COUNTERS = table('sharded_counters', ['name'], 'id', 'shards')
const SHARDS = table(
  'sharded_counter_shards',
  ['name', 'shard'],
  ['of_shards', 'replace'],
  ['value', 'replace'],
)

const MAX = Number.MAX_SAFE_INTEGER

/** Most shards of a counter. */
export const MAX_SHARDS = 1_000

/** An increment beyond this share of a shard hardly ever takes the quick way. */
const LARGE = Math.floor(MAX / MAX_SHARDS)

/** The increment of one caller, and why it was not counted. */
export interface Increment {
  readonly delta: number
  refused: RangeError | undefined
}

/** Returns the share of `shard` when `total` is spread evenly over `count` shards. */
export function share(total: number, count: number, shard: number): number {
  const even = Math.trunc(total / count)
  return even + (shard < Math.abs(total % count) ? Math.sign(total) : 0)
}

/**
 * The shards of one counter in SQL. No shard ever holds more than its share of ±(2^53-1), so their
 * sum stays in bounds without a look at all of them. If a shard is full or missing, or the number
 * of shards has changed, the increment takes the long way: it locks the counter's row and all
 * shards.
 */
export class Shards {
  readonly #database: PreparedDatabase
  readonly #environment: Environment
  readonly #name: string
  readonly #least: number
  readonly #lane: Lane
  /** The number of shards as last heard. */
  #count: number | undefined
  #id: Buffer | undefined

  /** `least`: the number of shards to begin with, or to grow to. */
  constructor(database: PreparedDatabase, environment: Environment, name: string, least: number) {
    this.#database = database
    this.#environment = environment
    this.#name = name
    this.#least = least
    this.#lane = new Lane(database, environment, name)
  }

  /**
   * Adds the deltas to a random shard, and refuses those with which the total would leave
   * ±(2^53-1). Not to be called again before it has ended. Returns the sum of those added.
   *
   * @throws OutcomeUnknownError; anything else: nothing was added
   */
  async add(increments: readonly Increment[]): Promise<number> {
    await this.#refuseLarge(increments)
    const fit = increments.filter(({ refused }) => !refused)
    if (fit.length === 0) return 0
    const place = this.#environment.random()
    let id: Buffer | undefined
    try {
      const wentLong = await this.#lane.commit({
        quick: this.#quickAdd(sumOf(fit), place),
        long: async (tx) => void (id = await this.#addTheLongWay(tx, fit, place)),
      })
      if (!wentLong) for (const one of fit) one.refused = undefined
    } catch (error) {
      if (error instanceof RangeError && fit.every(({ refused }) => refused)) return 0
      throw error
    }
    // Not before: the row of a transaction that is rolled back has an id that nobody else sees.
    this.#id ??= id
    return sumOf(fit.filter(({ refused }) => !refused))
  }

  /** Refuses large increments that do not fit without a lock that others would wait for. */
  async #refuseLarge(increments: readonly Increment[]): Promise<void> {
    const large = increments.filter(({ delta }) => Math.abs(delta) > LARGE)
    if (large.length === 0) return
    const total = await answered(this.#environment, () => this.total())
    for (const one of large) one.refused = this.#refusal(total, one.delta)
  }

  /** `undefined`: the delta fits. */
  #refusal(total: number, delta: number): RangeError | undefined {
    if (Number.isSafeInteger(total + delta)) return undefined
    return new RangeError(
      `wide-cache: counter "${this.#name}" is at ${total}; with ${delta} it would ` +
        'pass ±(2^53-1). Nothing was counted',
    )
  }

  /** Makes sure that there are at least `count` shards. Safe to repeat. */
  async grow(count: number): Promise<void> {
    const { id, shards } = await this.#database.retriedTransaction((tx) =>
      this.#lock(tx, Math.max(count, this.#least)),
    )
    this.#count = shards
    this.#id ??= id
  }

  /** The total at one moment: one statement, one snapshot. */
  async total(): Promise<number> {
    const { rows } = await execute(this.#database)`SELECT COALESCE(SUM(value), 0) AS total
      FROM sharded_counter_shards WHERE name = ${this.#name}`
    return Number(rows[0]?.['total'])
  }

  /**
   * Returns the id that distinguishes this counter from others of its name in other databases.
   * `undefined` while the counter has no row, so nothing was ever counted. Asks SQL unless this
   * process has counted.
   */
  async id(): Promise<Buffer | undefined> {
    if (this.#id) return this.#id
    return (await this.#read(this.#database))?.id
  }

  #quickAdd(delta: number, place: number): RowUpdate | undefined {
    if (this.#count === undefined) return undefined
    const shard = Math.floor(place * this.#count)
    const bound = share(MAX, this.#count, shard)
    return {
      table: 'sharded_counter_shards',
      set: sql`value = value + ${delta}`,
      where: sql`name = ${this.#name} AND shard = ${shard} AND of_shards = ${this.#count}
        AND value + ${delta} BETWEEN ${-bound} AND ${bound}`,
    }
  }

  /**
   * Adds what fits, in the order of the callers, and refuses the rest. Returns the counter's id.
   * `place`: where among the shards, 0 to 1.
   *
   * @throws RangeError if nothing fits
   */
  async #addTheLongWay(
    tx: Transaction,
    increments: readonly Increment[],
    place: number,
  ): Promise<Buffer | undefined> {
    const { id, shards: count } = await this.#lock(tx, this.#least)
    this.#count = count
    const values = await this.#lockValues(tx)
    const before = sum(values)
    let total = before
    for (const one of increments) {
      one.refused = this.#refusal(total, one.delta)
      if (!one.refused) total += one.delta
    }
    const refused = increments.every((one) => one.refused) ? increments[0]?.refused : undefined
    if (refused) throw refused
    const shard = Math.floor(place * count)
    const value = (values.get(shard) ?? 0) + (total - before)
    if (Math.abs(value) <= share(MAX, count, shard)) await this.#write(tx, count, [[shard, value]])
    else await this.#spread(tx, count, total)
    return id
  }

  /** Locks the counter's row, made or grown to `least` shards where needed, and returns it. */
  async #lock(tx: Transaction, least: number): Promise<{ id: Buffer; shards: number }> {
    await COUNTERS.upsert(tx, [[this.#name, this.#environment.newId(), least]])
    const counter = (await this.#read(tx))!
    if (counter.shards >= least) return counter
    await execute(tx)`UPDATE sharded_counters SET shards = ${least} WHERE name = ${this.#name}`
    const values = await this.#lockValues(tx)
    if ([...values].some(([shard, value]) => Math.abs(value) > share(MAX, least, shard))) {
      await this.#spread(tx, least, sum(values))
    } else {
      await execute(tx)`UPDATE sharded_counter_shards SET of_shards = ${least}
        WHERE name = ${this.#name}`
    }
    return { ...counter, shards: least }
  }

  #read(on: Pick<Queryable, 'query'>): Promise<{ id: Buffer; shards: number } | undefined> {
    const columns = { id: bytes, shards: Number }
    return selectOne(on, columns)`FROM sharded_counters WHERE name = ${this.#name}`
  }

  async #lockValues(tx: Transaction): Promise<Map<number, number>> {
    const { rows } = await execute(tx)`SELECT shard, value FROM sharded_counter_shards
      WHERE name = ${this.#name} ORDER BY shard${raw(forUpdate(tx.dialect))}`
    return new Map(rows.map(({ shard, value }) => [Number(shard), Number(value)]))
  }

  #spread(tx: Transaction, count: number, total: number): Promise<void> {
    return this.#write(
      tx,
      count,
      Array.from({ length: count }, (_, shard) => [shard, share(total, count, shard)]),
    )
  }

  async #write(
    tx: Transaction,
    count: number,
    values: readonly (readonly [shard: number, value: number])[],
  ): Promise<void> {
    await SHARDS.upsert(
      tx,
      values.map(([shard, value]) => [this.#name, shard, count, value]),
    )
  }
}

function sumOf(increments: readonly Increment[]): number {
  return increments.reduce((total, { delta }) => total + delta, 0)
}

/** Adds up shards that hold at most their shares: no partial sum passes 2^53-1 either. */
function sum(values: ReadonlyMap<number, number>): number {
  let total = 0
  for (const value of values.values()) total += value
  return total
}
