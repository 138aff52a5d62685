/** Hits for the laws of orders: committed, moved and read by the parts that do it. */
import type { Database } from '../../src/database/database.js'
import { hitsCommit } from '../../src/hits/commit.js'
import { readCounts } from '../../src/hits/counts.js'
import type { Hit } from '../../src/hits/hit.js'
import { moveHits } from '../../src/hits/move.js'
import type { Orders, Ports } from '../simulated-world/explorer.js'
import { EPOCH } from '../simulated-world/world.js'

export const NAME = 'threads'
const REPEAT_SECONDS = 600

/** Bounds of their laws. */
export const BOUNDS = { tables: 'wide-cache hits', preemptions: 1 }

/** A hit of a viewer for each `n`, or of an unknown one. */
export function hit(item: string, n?: number, time = EPOCH): Hit {
  return { time, viewer: n === undefined ? null : Buffer.alloc(12, n), item }
}

/** A process of a site, or a collector. */
export class HitsActor {
  readonly #database: Database
  readonly #name: string

  constructor({ database }: Pick<Ports, 'database'>, name = NAME) {
    this.#database = database
    this.#name = name
  }

  commit(hits: readonly Hit[], now = EPOCH): Promise<void> {
    const [name, gridName] = [this.#name, `hits.${this.#name}`]
    const commit = hitsCommit({ name, gridName, repeatSeconds: REPEAT_SECONDS })
    return this.#database.transaction((tx) => commit([...hits], tx, { now, name }))
  }

  /** Renames an item, or deletes it. Returns how many hits have gone. */
  move(from: string, to?: string): Promise<number> {
    return this.#database.transaction((tx) => moveHits(tx, this.#name, from, to))
  }

  /** The counts of items, in their order. */
  async counts(...items: string[]): Promise<number[]> {
    return [...(await readCounts(this.#database, this.#name, items)).values()]
  }
}

/** Opens an actor of hits. */
export function openHits(orders: Orders, name: string): HitsActor {
  return new HitsActor(orders.actor(name))
}

/** The hits of an item in each of its hours, and in each of its days. */
export function periodsOf(orders: Orders, item: string): { hours: unknown[]; days: unknown[] } {
  const of = (table: string) =>
    orders
      .look(`SELECT hits FROM hits_${table} WHERE item = ?`, [Buffer.from(item)])
      .map(({ hits }) => hits)
  return { hours: of('hours'), days: of('days') }
}
