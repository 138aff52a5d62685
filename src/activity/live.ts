import { shared } from '../support/shared.js'
import type { LiveCell } from '../wide-cache/live.js'
import type { Engine } from '../wide-cache/engine.js'
import type { ActivityStats } from './stats.js'
import type { Visit } from './visit.js'

/** One layer of the grid, as it lies in the cache. */
export interface LiveActivityLayer {
  /** Start of the layer, in ISO 8601. */
  readonly start: string
  /** Page views in its cells. */
  readonly pageViews: number
  /** Contents of each cell, by columns. */
  readonly cells: readonly LiveCell[]
}

/** One page of the newest layers. */
export interface LivePage {
  /** The page, as it is stored. */
  readonly page: string
  /** Its views in these layers. */
  readonly pageViews: number
}

/** Visits that are in the cache and not in the figures yet. They may still change. */
export interface LiveActivity {
  /** The figures are complete up to this moment; the layers come after it. In ISO 8601. */
  readonly asOf: string
  /** Seconds that each layer lasts. */
  readonly layerSeconds: number
  /** Oldest first, at most 20. A visit is in one within a second. */
  readonly layers: readonly LiveActivityLayer[]
  /** The pages with the most views in these layers, at most 20. */
  readonly pages: readonly LivePage[]
  /** There was more than 1 MiB to read, so that only some columns were: counts are of those. */
  readonly sampled: boolean
}

/** Time for which one answer is shared. */
const SHARED_MS = 1_000

const MAX_PAGES = 20

/**
 * Reads the cells of the newest layers from the cache, once a second for all callers.
 *
 * @throws CacheError if the cache does not answer; what the database throws, without figures
 */
export function liveView(
  stats: () => Promise<ActivityStats>,
  engine: Engine<Visit>,
): () => Promise<LiveActivity> {
  return shared(engine.clock, SHARED_MS, async () => readLive((await stats()).asOf, engine))
}

/** Reads the cells of the newest layers from `asOf` on. @throws CacheError */
export async function readLive(asOf: string, engine: Engine<Visit>): Promise<LiveActivity> {
  const views = new Map<string, number>()
  const tail = await engine.readLive(Date.parse(asOf), ({ page }) => {
    views.set(page, (views.get(page) ?? 0) + 1)
  })
  return {
    asOf,
    layerSeconds: tail.layerSeconds,
    layers: tail.layers.map(({ start, rows, cells }) => ({
      start: new Date(start).toISOString(),
      pageViews: rows,
      cells,
    })),
    pages: [...views]
      .sort(([, a], [, b]) => b - a)
      .slice(0, MAX_PAGES)
      .map(([page, pageViews]) => ({ page, pageViews })),
    sampled: tail.sampled,
  }
}
