/** Joins the metrics and troubles of all objects that a command collects, for HTTP. */
import { joinMetrics } from '../metrics/prometheus.js'
import type { Collectable } from '../wide-cache/commands.js'
import type { Served } from './listen.js'

/** Object that is collected under a name. */
export type Collected = Pick<Collectable, 'metrics' | 'collectingTroubles'>

/**
 * @param collected all that is collected at a time, by name
 * @param blind returns the reason why that is not known; `undefined`: it is known
 */
export function servedBy(
  collected: () => Iterable<readonly [name: string, Collected]>,
  blind: () => string | undefined = () => undefined,
): Served {
  return {
    metrics: () =>
      joinMetrics(
        // One that is being closed rejects, and has no metrics.
        ...[...collected()].map(([, one]) => ({ metrics: () => one.metrics().catch(() => '') })),
      ),
    async troubles() {
      const why = blind()
      const all = [...collected()].map(async ([name, one]) =>
        (await one.collectingTroubles().catch(() => [])).map((trouble) => `${name}: ${trouble}`),
      )
      return [...(why === undefined ? [] : [why]), ...(await Promise.all(all)).flat()]
    },
  }
}
