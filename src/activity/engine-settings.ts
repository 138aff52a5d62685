import type { Environment } from '../support/environment.js'
import { type Measure, measureName, WITH_GONE } from '../page-views/measures.js'
import type { ViewRows } from '../page-views/view-recorder.js'
import type { BurstLogger } from '../support/logger.js'
import { START_COMMAND } from '../support/package-kinds.js'
import { UTC_ZONE } from '../support/time-zone.js'
import type { EngineSettings } from '../wide-cache/engine-settings.js'
import { bookMetrics, siteMetrics } from './book-metrics.js'
import { commitVisits, MAX_COMMIT_ROWS } from './commit.js'
import { Folding } from './folding.js'
import type { ViewedPage } from './middleware.js'
import type { ActivitySettings } from './options.js'
import { Recounts } from './recount.js'
import { type Visit, visitCodec } from './visit.js'
import { VisitRetention } from './visit-retention.js'

/** The rows of an activity, of which each measure has an engine. */
export function activityRows(
  settings: ActivitySettings,
  environment: Environment,
): ViewRows<ViewedPage, Visit> {
  const { name, count, timeZone } = settings
  return {
    what: 'Activity',
    name,
    gridName: name,
    measures: WITH_GONE,
    count,
    logger: settings.logger,
    timeZone,
    engineOf: (measure, logger) => engineSettings(settings, measure, environment, logger),
    rowOf: (time, visitor, { page, dimensions }) => ({ time, visitor, page, dimensions }),
    got: 'record() got',
    withPrivateCache: 'count one visitor several times',
  }
}

/** Returns the settings of the engine of a measure. Of those apart, only sums are kept. */
function engineSettings(
  settings: ActivitySettings,
  measure: Measure,
  environment: Environment,
  logger: BurstLogger,
): EngineSettings<Visit> {
  const { keepSeconds, historyDays, count } = settings
  const name = measureName(settings.name, measure)
  const keep = measure === 'bots' || measure === 'gone' ? 'sums' : settings.keep
  const { clock } = environment
  const recounts = new Recounts({ name, logger })
  const folding = new Folding(name)
  const retention = new VisitRetention({ ...settings, name, keep, clock, logger })
  return {
    ...settings.grid,
    name,
    kind: 'activity',
    nameSettings: {
      keepSeconds: { value: keepSeconds, counts: 'longest' },
      historyDays: { value: historyDays, counts: 'longest' },
      keep: { value: keep, counts: 'last' },
      givenTimeZone: { value: settings.timeZone?.name ?? '', counts: 'last' },
    },
    timeZone: settings.timeZone ?? UTC_ZONE,
    tables: ['activity'],
    codec: visitCodec,
    commit: commitVisits,
    maxCommitRows: MAX_COMMIT_ROWS,
    readTtlSeconds: settings.statsTtlSeconds,
    removeOld: (database, context) => retention.removeOld(database, context),
    afterDrain: (database) => folding.run(database),
    afterRun: (database, now) => recounts.run(database, now),
    metrics: measure === count ? siteMetrics : bookMetrics,
    collectorRemedy: START_COMMAND,
  }
}
