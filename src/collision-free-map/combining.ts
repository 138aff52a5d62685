/**
 * One bucket's queued updates become values. A transaction takes what is queued in ascending order
 * of hashes, up to a bound, and only keys whose queued updates it has all read; a key with more of
 * them than the bound is read in portions within one transaction. So no key shows a value that
 * lacks an update committed before the transaction began, and memory is bounded. Ids are no cursor:
 * one may commit after a higher one.
 */
import type { Calls } from '../buckets/calls.js'
import { type Encoded, HASHES } from '../buckets/encoding.js'
import type { Queue } from '../buckets/queue.js'
import { reasonOf } from '../buckets/reason.js'
import { deleteRows, listsOf } from '../database/bulk.js'
import type { Transaction } from '../database/database.js'
import { bytes, execute, raw, select, selectOne, type Sql, sql } from '../database/sql.js'
import { table } from '../database/table.js'
import { counted } from '../support/printable.js'
import type { Change, CollisionFreeMapOptions } from './options.js'

/** Queued updates a processor holds at once. */
export const UPDATES_A_PORTION = 2_000

const QUEUE = 'collision_free_map_queue'
const PARKED = table(
  'collision_free_map_parked',
  ['id'],
  'map',
  'hash',
  'map_key',
  'map_value',
  'reason',
  'parked_at',
)
const VALUES = table(
  'collision_free_map_values',
  ['map', 'hash', 'map_key'],
  ['map_value', 'replace'],
)

const PAIR = { key: [bytes, 'map_key'], value: [bytes, 'map_value'] } as const

interface Update extends Encoded {
  readonly id: number
}

/** A key in a transaction: its value before and so far. */
interface Entry {
  readonly hash: number
  readonly key: Buffer
  readonly stored: Buffer | undefined
  value: Buffer | undefined
}

type Functions<K, V> = Pick<CollisionFreeMapOptions<K, V>, 'combine' | 'onUpdate'>

/** Updates taken from the queue, those that were parked included. */
interface Taken {
  readonly taken: number
  readonly parked: number
}

/** Result of one transaction. `next`: the hash to go on from. */
interface Pass extends Taken {
  readonly next: number
}

const NOTHING: Pass = { taken: 0, parked: 0, next: HASHES }

export class Combining<K, V> {
  readonly #queue: Queue<K, V>
  readonly #combine: Functions<K, V>['combine']
  readonly #onUpdate: Functions<K, V>['onUpdate']
  readonly #calls: Calls

  constructor(queue: Queue<K, V>, { combine, onUpdate }: Functions<K, V>, calls: Calls) {
    this.#queue = queue
    this.#combine = combine
    this.#onUpdate = onUpdate
    this.#calls = calls
  }

  /**
   * Goes once over the bucket, in as many transactions as it takes. Returns how many updates it has
   * taken.
   */
  async process(bucket: number): Promise<number> {
    const { database, logger, name: id } = this.#queue
    let sum = 0
    for (let from = 0; from < HASHES;) {
      const over = new AbortController()
      const { taken, parked, next } = await database
        .retriedTransaction((tx) => this.#pass(tx, bucket, from, over.signal))
        .catch((error: unknown) => {
          // It may be rolled back while onUpdate is under way, after a pause of 10 s.
          over.abort(error)
          throw error
        })
      if (parked > 0) {
        logger.warn(
          'parked',
          `wide-cache: map "${id}" has parked ${counted(parked, 'update')}, because combine ` +
            `threw; run wide-cache parked list --name ${id}`,
        )
      }
      sum += taken
      from = next
    }
    return sum
  }

  async #pass(tx: Transaction, bucket: number, from: number, over: AbortSignal): Promise<Pass> {
    const range = await this.#queue.buckets.lock(tx, bucket)
    if (!range) return NOTHING
    const first = Math.max(from, range.first)
    const read = await this.#read(tx, sql`hash BETWEEN ${first} AND ${range.last}`)
    const last = read.at(-1)
    if (!last) return NOTHING
    // A full portion may have cut off the updates of its last hash.
    const whole =
      read.length < UPDATES_A_PORTION ? read : read.filter(({ hash }) => hash !== last.hash)
    const isCutOff = whole.length < read.length
    const next = whole.length === 0 ? last.hash + 1 : isCutOff ? last.hash : HASHES
    const entries = new Map<string, Entry>()
    let [taken, parked] = [0, 0]
    for await (const portion of whole.length > 0 ? [whole] : this.#portionsOf(tx, last.hash)) {
      const done = await this.#take(tx, portion, entries)
      taken += done.taken
      parked += done.parked
    }
    await this.#write(tx, [...entries.values()], over)
    return { taken, parked, next }
  }

  /**
   * In ascending order of hashes, and of ids: an update's id is above those that its transaction
   * could have seen.
   */
  #read(tx: Transaction, condition: Sql): Promise<Update[]> {
    return select(tx, { id: Number, hash: Number, ...PAIR })`FROM ${raw(QUEUE)}
      WHERE map = ${this.#queue.name} AND ${condition}
      ORDER BY hash, id LIMIT ${UPDATES_A_PORTION}`
  }

  /** All of one hash. The portion before must be deleted by the time the next one is asked for. */
  async *#portionsOf(tx: Transaction, hash: number): AsyncGenerator<Update[]> {
    // What has been committed by now has no id above the highest of now; without this bound, busy
    // writers could hold us for ever.
    const { newest } = (await selectOne(tx, { newest: [Number, 'MAX(id)'] })`FROM ${raw(QUEUE)}`)!
    for (;;) {
      const portion = await this.#read(tx, sql`hash = ${hash} AND id <= ${newest}`)
      if (portion.length > 0) yield portion
      if (portion.length < UPDATES_A_PORTION) return
    }
  }

  /** Combines updates into `entries` and takes them from the queue. */
  async #take(
    tx: Transaction,
    updates: readonly Update[],
    entries: Map<string, Entry>,
  ): Promise<Taken> {
    const byKey = new Map<string, Update[]>()
    for (const update of updates) {
      const name = keyText(update.key)
      const same = byKey.get(name)
      if (same) same.push(update)
      else byKey.set(name, [update])
    }
    await this.#load(
      tx,
      [...byKey].filter(([name]) => !entries.has(name)).flatMap(([, [update]]) => update ?? []),
      entries,
    )
    let parked = 0
    for (const [name, same] of byKey) {
      const entry = entries.get(name)!
      try {
        entry.value = this.combined(
          entry.key,
          entry.value,
          same.map(({ value }) => value),
        )
      } catch (error) {
        parked += await this.#park(tx, same, error)
      }
    }
    await deleteRows(
      tx,
      QUEUE,
      updates.map(({ id }) => id),
    )
    return { taken: updates.length, parked }
  }

  /**
   * Makes an entry of each of `keys`, with its stored value: nobody else writes it while we have
   * the bucket.
   */
  async #load(
    tx: Transaction,
    keys: readonly Encoded[],
    entries: Map<string, Entry>,
  ): Promise<void> {
    const stored = new Map<string, Buffer>()
    for (const list of listsOf(keys, tx)) {
      const found = await select(tx, PAIR)`FROM ${raw(VALUES.name)} WHERE map = ${this.#queue.name}
        AND hash IN (${list.map(({ hash }) => hash)})`
      for (const { key, value } of found) stored.set(keyText(key), value)
    }
    for (const { hash, key } of keys) {
      const value = stored.get(keyText(key))
      entries.set(keyText(key), { hash, key, stored: value, value })
    }
  }

  /**
   * From bytes to bytes, so that it makes no difference in how many transactions updates have come.
   */
  combined(
    key: Buffer,
    stored: Buffer | undefined,
    updates: readonly Buffer[],
  ): Buffer | undefined {
    const { keys, values } = this.#queue
    const combine = this.#combine
    const value: unknown = combine(
      keys.decode(key),
      stored && values.decode(stored),
      updates.map((update) => values.decode(update)),
    )
    if (value === undefined) return undefined
    if (isThenable(value)) {
      value.then(undefined, () => undefined)
      throw new TypeError('combine has returned a promise; it must be synchronous')
    }
    return values.encode(value as V)
  }

  /** Sets updates aside. Returns how many. */
  async #park(tx: Transaction, updates: readonly Update[], error: unknown): Promise<number> {
    const reason = reasonOf(error, 'combine')
    const now = await tx.now()
    await PARKED.insert(
      tx,
      updates.map(({ id, hash, key, value }) => [
        id,
        this.#queue.name,
        hash,
        key,
        value,
        reason,
        now,
      ]),
    )
    return updates.length
  }

  /** Writes what has changed, and tells of it. */
  async #write(tx: Transaction, entries: readonly Entry[], over: AbortSignal): Promise<void> {
    const { name: id } = this.#queue
    const changed = entries.filter(({ stored, value }) =>
      stored && value ? !stored.equals(value) : stored !== value,
    )
    const kept = changed
      .filter(({ value }) => value !== undefined)
      .map(({ hash, key, value }) => [id, hash, key, value ?? null] as const)
    await VALUES.upsert(tx, kept)
    // One at a time: with lists, MariaDB may read, and wait for, the rows of other buckets.
    for (const { hash, key, value } of changed) {
      if (value === undefined) {
        await execute(tx)`DELETE FROM ${raw(VALUES.name)} WHERE map = ${id} AND hash = ${hash}
          AND map_key = ${key}`
      }
    }
    const onUpdate = this.#onUpdate
    if (changed.length === 0 || !onUpdate) return
    const changes = changed.map((entry) => this.#change(entry))
    await this.#calls.run((signal) => onUpdate(changes, tx, { signal }), over)
  }

  #change({ key, stored, value }: Entry): Change<K, V> {
    const { keys, values } = this.#queue
    return {
      key: keys.decode(key),
      oldValue: stored && values.decode(stored),
      newValue: value && values.decode(value),
    }
  }
}

/** A key's bytes as a string, one character a byte. */
function keyText(key: Buffer): string {
  return key.toString('latin1')
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  const { then } = Object(value) as { then?: unknown }
  return typeof then === 'function'
}
