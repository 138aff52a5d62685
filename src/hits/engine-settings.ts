import type { Measure } from '../page-views/measures.js'
import { messageOf } from '../support/errors.js'
import type { BurstLogger } from '../support/logger.js'
import { START_COMMAND } from '../support/package-kinds.js'
import type { EngineSettings } from '../wide-cache/engine-settings.js'
import { collectedSlowly } from '../wide-cache/grid-options.js'
import { readNameSettings } from '../wide-cache/ledger/name-settings.js'
import { type CountingMap, hitsCommit } from './counting.js'
import { removeHours } from './history.js'
import { type Hit, hitCodec } from './hit.js'
import { type HitsSettings, measureNames } from './options.js'
import { removeOldHits } from './retention.js'

/** Most rows of one commit, and seconds for which the figures of `top` are served. */
const MAX_COMMIT_ROWS = 2_000
const READ_TTL_SECONDS = 2

/**
 * Returns the settings of the engine of a measure. The measure that the figures are of is collected
 * often, and the others seldom, because that costs less.
 *
 * @param map returns the map that adds them up, which needs the engine's database
 * @param found called by the process that collects that measure, every 10 s at most
 */
export function engineSettings(
  settings: HitsSettings,
  measure: Measure,
  map: () => CountingMap,
  logger: BurstLogger,
  found?: () => Promise<unknown>,
): EngineSettings<Hit> {
  const { repeatSeconds, keepSeconds, count } = settings
  const { name, gridName } = measureNames(settings, measure)
  return {
    ...(measure === count ? settings.grid : collectedSlowly(settings.grid)),
    name: gridName,
    kind: 'hits',
    nameSettings: {
      keepSeconds: { value: keepSeconds, counts: 'longest' },
      repeatSeconds: { value: repeatSeconds, counts: 'last' },
    },
    tables: ['hits', 'collision-free-map'],
    codec: hitCodec,
    commit: hitsCommit({ name, gridName, repeatSeconds }, map),
    maxCommitRows: MAX_COMMIT_ROWS,
    readTtlSeconds: READ_TTL_SECONDS,
    async removeOld(database, { now }) {
      const kept = (await readNameSettings(database, gridName))?.keepSeconds ?? keepSeconds
      const more = await removeOldHits(database, name, now - 1000 * kept)
      return (await removeHours(database, name, now)) || more
    },
    afterDrain: undefined,
    async afterRun() {
      await processed(map(), name, logger)
      await found?.()
    },
    metrics: undefined,
    collectorRemedy: START_COMMAND,
  }
}

/** Adds up what has come since the last time. Never rejects. */
async function processed(map: CountingMap, name: string, logger: BurstLogger): Promise<void> {
  try {
    await map.process()
    logger.recovered('process', 'wide-cache: processing hits again')
  } catch (error) {
    logger.warn(
      'process',
      `wide-cache: processing the hits "${name}" failed and will be retried: ` + messageOf(error),
    )
  }
}
