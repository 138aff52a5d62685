import type { Measure } from '../page-views/measures.js'
import { START_COMMAND } from '../support/package-kinds.js'
import type { EngineSettings } from '../wide-cache/engine-settings.js'
import { collectedSlowly } from '../wide-cache/grid-options.js'
import { readNameSettings } from '../wide-cache/ledger/name-settings.js'
import { hitsCommit } from './commit.js'
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
 * @param found called by the process that collects that measure, every 10 s at most
 */
export function engineSettings(
  settings: HitsSettings,
  measure: Measure,
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
    tables: ['hits'],
    codec: hitCodec,
    commit: hitsCommit({ name, gridName, repeatSeconds }),
    maxCommitRows: MAX_COMMIT_ROWS,
    readTtlSeconds: READ_TTL_SECONDS,
    async removeOld(database, { now }) {
      const kept = (await readNameSettings(database, gridName))?.keepSeconds ?? keepSeconds
      const more = await removeOldHits(database, name, now - 1000 * kept)
      return (await removeHours(database, name, now)) || more
    },
    afterDrain: undefined,
    async afterRun() {
      await found?.()
    },
    metrics: undefined,
    collectorRemedy: START_COMMAND,
  }
}
