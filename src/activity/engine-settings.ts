import type { Environment } from '../support/environment.js'
import { type Measure, measureName } from '../page-views/measures.js'
import type { BurstLogger } from '../support/logger.js'
import { START_COMMAND } from '../support/package-kinds.js'
import type { EngineSettings } from '../wide-cache/engine-settings.js'
import { collectedSlowly } from '../wide-cache/grid-options.js'
import { bookMetrics, siteMetrics } from './book-metrics.js'
import { commitVisits, MAX_COMMIT_ROWS } from './commit.js'
import type { ActivitySettings } from './options.js'
import { Folding } from './folding.js'
import { Recounts } from './recount.js'
import { type Visit, visitCodec } from './visit.js'
import { VisitRetention } from './visit-retention.js'

/**
 * Returns the settings of the engine of a measure. The measure that the figures are of is collected
 * often, and the others seldom, because that costs less. Of bots, only sums are kept.
 *
 * @param found called by the process that collects that measure, every 10 s at most
 */
export function engineSettings(
  settings: ActivitySettings,
  measure: Measure,
  environment: Environment,
  logger: BurstLogger,
  found?: () => Promise<unknown>,
): EngineSettings<Visit> {
  const { keepSeconds, historyDays, layerSeconds, count } = settings
  const name = measureName(settings.name, measure)
  const keep = measure === 'bots' ? 'sums' : settings.keep
  const { clock } = environment
  const random = (): number => environment.random()
  const recounts = new Recounts({ name, layerSeconds, random, logger })
  const folding = new Folding(name)
  const retention = new VisitRetention({ ...settings, name, keep, clock, logger })
  return {
    ...(measure === count ? settings.grid : collectedSlowly(settings.grid)),
    name,
    kind: 'activity',
    nameSettings: {
      keepSeconds: { value: keepSeconds, counts: 'longest' },
      historyDays: { value: historyDays, counts: 'longest' },
      keep: { value: keep, counts: 'last' },
    },
    tables: ['activity'],
    codec: visitCodec,
    commit: commitVisits,
    maxCommitRows: MAX_COMMIT_ROWS,
    readTtlSeconds: settings.statsTtlSeconds,
    removeOld: (database, context) => retention.removeOld(database, context),
    afterDrain: (database) => folding.run(database),
    async afterRun(database, now) {
      await recounts.run(database, now)
      await found?.()
    },
    metrics: measure === count ? siteMetrics : bookMetrics,
    collectorRemedy: START_COMMAND,
  }
}
