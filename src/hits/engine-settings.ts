import { type Measure, measureName, MEASURES } from '../page-views/measures.js'
import type { ViewRows } from '../page-views/view-recorder.js'
import { START_COMMAND } from '../support/package-kinds.js'
import { calendarOf, UTC_ZONE } from '../support/time-zone.js'
import type { EngineSettings } from '../wide-cache/engine-settings.js'
import { readNameSettings } from '../wide-cache/ledger/name-settings.js'
import { hitsCommit } from './commit.js'
import { removeHours } from './history.js'
import { type Hit, hitCodec, type ViewedItem } from './hit.js'
import type { HitsSettings } from './options.js'
import { removeOldHits } from './retention.js'

/** Most rows of one commit, and seconds for which the figures of `top` are served. */
const MAX_COMMIT_ROWS = 2_000
const READ_TTL_SECONDS = 2

/** The rows of hits, of which each measure has an engine. */
export function hitsRows(settings: HitsSettings): ViewRows<ViewedItem, Hit> {
  const { name, gridName, count, logger, timeZone } = settings
  return {
    what: 'Hits',
    name,
    gridName,
    measures: MEASURES,
    count,
    logger,
    timeZone,
    engineOf: (measure) => engineSettings(settings, measure),
    rowOf: (time, viewer, { item }) => ({ time, viewer, item }),
    got: 'a hit has',
    withPrivateCache: 'count the hits of one viewer several times',
  }
}

/** Returns the settings of the engine of a measure. */
function engineSettings(settings: HitsSettings, measure: Measure): EngineSettings<Hit> {
  const { repeatSeconds, keepSeconds } = settings
  const name = measureName(settings.name, measure)
  const gridName = measureName(settings.gridName, measure)
  return {
    ...settings.grid,
    name: gridName,
    kind: 'hits',
    nameSettings: {
      keepSeconds: { value: keepSeconds, counts: 'longest' },
      repeatSeconds: { value: repeatSeconds, counts: 'last' },
      givenTimeZone: { value: settings.timeZone?.name ?? '', counts: 'last' },
    },
    timeZone: settings.timeZone ?? UTC_ZONE,
    tables: ['hits'],
    codec: hitCodec,
    commit: hitsCommit({ name, gridName, repeatSeconds }),
    maxCommitRows: MAX_COMMIT_ROWS,
    readTtlSeconds: READ_TTL_SECONDS,
    async removeOld(database, { now }) {
      const recorded = await readNameSettings(database, gridName)
      const kept = recorded?.keepSeconds ?? keepSeconds
      const calendar = calendarOf(recorded?.timeZone ?? UTC_ZONE)
      const more = await removeOldHits(database, name, now - 1000 * kept)
      return (await removeHours(database, name, now, calendar)) || more
    },
    afterDrain: undefined,
    afterRun: undefined,
    metrics: undefined,
    collectorRemedy: START_COMMAND,
  }
}
