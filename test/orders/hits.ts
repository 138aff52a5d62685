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
  readonly #names: readonly string[]

  /** @param names the measures that it commits and moves, each in the transaction of all */
  constructor({ database }: Pick<Ports, 'database'>, names: readonly string[] = [NAME]) {
    this.#database = database
    this.#names = names
  }

  commit(hits: readonly Hit[], now = EPOCH): Promise<void> {
    return this.#database.transaction(async (tx) => {
      for (const name of this.#names) {
        const own = { name, gridName: `hits.${name}`, repeatSeconds: REPEAT_SECONDS }
        await hitsCommit(own)([...hits], tx, { now, name })
      }
    })
  }

  /** Renames an item, or deletes it. Returns how many hits have gone of each measure. */
  move(from: string, to?: string): Promise<number> {
    return this.#database.transaction(async (tx) => {
      let moved = 0
      for (const name of this.#names) moved = await moveHits(tx, name, from, to)
      return moved
    })
  }

  /** The counts of items, in their order. */
  async counts(...items: string[]): Promise<number[]> {
    return [...(await readCounts(this.#database, this.#names[0]!, items)).values()]
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
