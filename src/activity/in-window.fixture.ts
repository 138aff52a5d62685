import { eventually } from '../support/eventually.fixture.js'
import type { Activity } from './activity.js'

/** Layers after which figures have a visit within four seconds. */
export const SHORT_LAYERS = { layerSeconds: 1, drainAfterLayers: 2, statsTtlSeconds: 1 } as const

/**
 * Drains until the window of the figures has all that was recorded, by the database's clock, which
 * is `now`. Visits that waited for their salt lie in the layer in which they were placed.
 */
export async function inWindow(
  activity: Pick<Activity, 'flush' | 'drain' | 'stats'>,
  now: () => number = Date.now,
): Promise<void> {
  await activity.flush()
  const placedBy = now()
  await eventually('the window has all that was recorded', async () => {
    await activity.drain()
    const { asOf } = await activity.stats()
    return Math.floor(Date.parse(asOf) / 1000) > Math.floor(placedBy / 1000)
  })
}
