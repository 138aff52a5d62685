/** Hits for the laws of orders: committed, moved and processed by the parts that do it. */
import type { Database } from '../../src/database/database.js'
import { countingMap, type CountingMap, hitsCommit } from '../../src/hits/counting.js'
import type { Hit } from '../../src/hits/hit.js'
import { moveHits } from '../../src/hits/move.js'
import { readCounts } from '../../src/hits/read-counts.js'
import type { Orders, Ports } from '../simulated-world/explorer.js'
import { EPOCH } from '../simulated-world/world.js'
import { SILENT } from '../../src/support/logger.js'

export const NAME = 'threads'
const REPEAT_SECONDS = 600

/** Bounds of their laws. */
export const BOUNDS = { tables: 'wide-cache hits collision-free-map', preemptions: 1 }

/** A hit of a viewer for each `n`, or of an unknown one. */
export function hit(item: string, n?: number, time = EPOCH): Hit {
  return { time, viewer: n === undefined ? null : Buffer.alloc(12, n), item }
}

/** A process of a site, or a collector. */
export class HitsActor {
  readonly #database: Database
  readonly #name: string
  readonly #gridName: string
  readonly map: CountingMap

  constructor({ database, environment }: Pick<Ports, 'database' | 'environment'>, name = NAME) {
    this.#database = database
    this.#name = name
    this.#gridName = `hits.${name}`
    const settings = { name, gridName: this.#gridName, logger: SILENT }
    this.map = countingMap(database, settings, environment).map
  }

  commit(hits: readonly Hit[], now = EPOCH): Promise<void> {
    const commit = hitsCommit(
      { name: this.#name, gridName: this.#gridName, repeatSeconds: REPEAT_SECONDS },
      () => this.map,
    )
    return this.#database.transaction((tx) => commit([...hits], tx, { now, name: this.#name }))
  }

  /** Renames an item, or deletes it. Returns how many hits have gone. */
  move(from: string, to?: string): Promise<number> {
    const target = {
      name: this.#name,
      map: this.#gridName,
      add: (counts: Iterable<readonly [string, number]>, tx: Parameters<typeof moveHits>[0]) =>
        this.map.update(counts, tx),
    }
    return this.#database.transaction((tx) => moveHits(tx, target, from, to))
  }

  process(): Promise<number> {
    return this.map.process()
  }

  /** The counts of items, in their order. */
  async counts(...items: string[]): Promise<number[]> {
    return [...(await readCounts(this.#database, this.#name, this.#gridName, items)).values()]
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
