import { shared } from '../support/shared.js'
import type { LiveActivity } from '../dashboard/site-figures.js'
import type { Engine } from '../wide-cache/engine.js'
import type { ActivityStats } from './stats.js'
import type { Visit } from './visit.js'

/** Time for which one answer is shared. */
const SHARED_MS = 500

const MAX_PAGES = 20

/**
 * Reads the cells of the newest layers from the cache, twice a second for all callers.
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
