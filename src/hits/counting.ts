/**
 * The map that adds hits up, and the commit that adds to it the hits that count. Processes of the
 * site and commands commit hits with these.
 */
import { joined } from '../metrics/joined.js'
import type { Metric, Reading } from '../metrics/metric.js'
import type { Measured } from '../metrics/telemetry.js'
import { MapOfParts, mapParts } from '../collision-free-map/collision-free-map.js'
import type { Database, Transaction } from '../database/database.js'
import type { Measure } from '../page-views/measures.js'
import type { Environment } from '../support/environment.js'
import type { Logger } from '../support/logger.js'
import { readNameSettings } from '../wide-cache/ledger/name-settings.js'
import type { CommitContext } from '../wide-cache/contexts.js'
import { commitHits } from './commit.js'
import { type Hit, itemCodec } from './hit.js'
import { DEFAULT_REPEAT_SECONDS, type HitsSettings, measureNames } from './options.js'
import { addUp, writeCounts } from './write-counts.js'

export type CountingMap = MapOfParts<string, number>

/** Makes the map that adds up the hits of a name, with its metrics. It has no schedule. */
export function countingMap(
  database: Database,
  { name, gridName, logger }: { name: string; gridName: string; logger: Logger },
  environment: Environment,
): { map: CountingMap; metrics: Measured } {
  const parts = mapParts<string, number>(
    {
      database,
      id: gridName,
      every: false,
      keyCodec: itemCodec,
      combine: addUp,
      logger,
      onUpdate: (changes, tx) => writeCounts(changes, tx, name),
    },
    environment,
  )
  return { map: new MapOfParts(parts), metrics: parts.metrics }
}

/** The maps of the measures of hits, each made when it is first needed. */
export class CountingMaps implements Measured {
  readonly metrics: readonly Metric[]
  readonly #made = new Map<Measure, ReturnType<typeof countingMap>>()
  readonly #make: (measure: Measure) => ReturnType<typeof countingMap>

  /** @param first the measure that is needed in any case */
  constructor(
    database: Database,
    { name, gridName, logger }: Pick<HitsSettings, 'name' | 'gridName' | 'logger'>,
    first: Measure,
    environment: Environment,
  ) {
    this.#make = (measure) =>
      countingMap(database, { ...measureNames({ name, gridName }, measure), logger }, environment)
    this.metrics = this.#parts(first).metrics.metrics
  }

  of(measure: Measure): CountingMap {
    return this.#parts(measure).map
  }

  async readings(): Promise<readonly Reading[]> {
    const made = [...this.#made.values()]
    return joined(await Promise.all(made.map(({ metrics }) => metrics.readings())))
  }

  #parts(measure: Measure): ReturnType<typeof countingMap> {
    let parts = this.#made.get(measure)
    if (!parts) this.#made.set(measure, (parts = this.#make(measure)))
    return parts
  }
}

/**
 * The `commit` of the wide cache of hits.
 *
 * @param map returns the {@link countingMap}. It is asked for when there are hits to commit.
 */
export function hitsCommit(
  { name, gridName, repeatSeconds }: Pick<HitsSettings, 'name' | 'gridName' | 'repeatSeconds'>,
  map: () => CountingMap,
): (hits: Hit[], tx: Transaction, context: CommitContext) => Promise<void> {
  return async (hits, tx, { now }) =>
    commitHits(hits, tx, {
      name,
      // Of SQL, so that all who commit have the same windows.
      repeatMs:
        1000 *
        ((await readNameSettings(tx, gridName))?.repeatSeconds ||
          repeatSeconds ||
          DEFAULT_REPEAT_SECONDS),
      now,
      add: (counts, tx) => map().update(counts, tx),
    })
}
