import type { Environment } from '../support/environment.js'
import type { BurstLogger } from '../support/logger.js'
import { START_COMMAND } from '../support/package-kinds.js'
import type { EngineSettings } from '../wide-cache/engine-settings.js'
import { bookMetrics } from './book-metrics.js'
import { commitVisits, MAX_COMMIT_ROWS } from './commit.js'
import type { ActivitySettings } from './options.js'
import { Folding } from './folding.js'
import { Recounts } from './recount.js'
import { type Visit, visitCodec } from './visit.js'
import { VisitRetention } from './visit-retention.js'

/** Returns what an activity hands in to its engine. */
export function engineSettings(
  settings: ActivitySettings,
  environment: Environment,
  logger: BurstLogger,
): EngineSettings<Visit> {
  const { name, keepSeconds, historyDays, keep, layerSeconds } = settings
  const { clock } = environment
  const random = (): number => environment.random()
  const recounts = new Recounts({ name, layerSeconds, random, logger })
  const folding = new Folding(name)
  const retention = new VisitRetention({ ...settings, clock, logger })
  return {
    ...settings.grid,
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
    afterRun: (database, now) => recounts.run(database, now),
    metrics: bookMetrics,
    collectorRemedy: START_COMMAND,
  }
}
