import type { Database } from '../database/database.js'
import type { Clock } from '../support/clock.js'
import { measureName, measureOf, WITH_GONE } from '../page-views/measures.js'
import type { BurstLogger } from '../support/logger.js'
import type { RetentionContext } from '../wide-cache/contexts.js'
import { readNameSettings } from '../wide-cache/ledger/name-settings.js'
import { watchBalance } from './balance.js'
import type { ActivityCertificate } from './certificate.js'
import { certificateLine } from './certificate-line.js'
import { type Keep, keptBy } from './keep.js'
import type { ActivitySettings } from './options.js'
import { type Removed, removeOldVisits } from './retention.js'

/** Duration of a call, for which collecting waits. */
const LEAST_REMOVAL_MS = 250
const MOST_REMOVAL_MS = 2_500
/** A third of the time: rows are removed twice as fast as a collector brings them. */
const REMOVAL_DIVISOR = 3

interface VisitRetentionParts extends Pick<
  ActivitySettings,
  'name' | 'keepSeconds' | 'retentionGiven' | 'historyDays' | 'vanishedSeconds' | 'keep'
> {
  readonly clock: Clock
  readonly logger: BurstLogger
}

/**
 * Removes visits that are older than the longest time that any process has given. SQL records that
 * time. If this process has given another one, the log says so.
 */
export class VisitRetention {
  readonly #parts: VisitRetentionParts
  readonly #removed: Removed = {}
  /** Start of the last call that left rows to remove. */
  #moreSince: number | undefined

  constructor(parts: VisitRetentionParts) {
    this.#parts = parts
  }

  /** Removes some. Resolves with whether there is more to remove. */
  async removeOld(database: Database, context: RetentionContext): Promise<boolean> {
    const { name, historyDays, vanishedSeconds, clock, logger } = this.#parts
    const began = clock.elapsed()
    const until = began + this.#durationMs(began)
    await watchBalance(database, name, logger)
    const recorded = await readNameSettings(database, name)
    this.#compareKeep(keptBy(recorded?.keep))
    const kept = {
      rowsMs: 1000 * this.#keptSeconds(recorded?.keepSeconds),
      valuesDays: Math.max(historyDays, recorded?.historyDays ?? 0),
      vanishedSeconds: recorded?.vanishedSeconds ?? vanishedSeconds,
      removed: this.#removed,
    }
    const onCertified = (certificate: ActivityCertificate): void => {
      const line = certificateLine(name, certificate)
      if (certificate.balanced) logger.info(line)
      else logger.error(line)
    }
    const mayGoOn = (): boolean => clock.elapsed() < until
    const more = await removeOldVisits(database, context, kept, onCertified, mayGoOn)
    this.#moreSince = more ? began : undefined
    return more
  }

  /**
   * Returns the duration of one call. If the last one left rows, it is a share of the time since
   * then; collecting has the rest.
   */
  #durationMs(began: number): number {
    const since = began - (this.#moreSince ?? began)
    return Math.min(Math.max(LEAST_REMOVAL_MS, since / REMOVAL_DIVISOR), MOST_REMOVAL_MS)
  }

  /** SQL has what the last process has given. */
  #compareKeep(kept: Keep): void {
    const { name, keep, logger } = this.#parts
    if (keep === '' || keep === kept) return
    logger.warnOnce(
      'keep',
      `wide-cache: another process has given the option "keep" of "${name}" as "${kept}" after ` +
        `this one, which has "${keep}"; the last one given counts, so give all processes the same`,
    )
  }

  /** Returns the time for which visits are kept: the longest that any process has given. */
  #keptSeconds(kept = this.#parts.keepSeconds): number {
    const { name, keepSeconds, retentionGiven, logger } = this.#parts
    if (retentionGiven && kept > keepSeconds) {
      logger.warnOnce(
        'kept longer',
        `wide-cache: visits of "${name}" are kept for ${hoursOf(kept)} h, the longest time ` +
          `that a process has given, and not for ${hoursOf(keepSeconds)} h as this one has; ` +
          'if no process needs them so long, run: UPDATE wide_cache_names SET keep_seconds = ' +
          `${keepSeconds} WHERE name IN (${otherMeasures(name)})`,
      )
    }
    return kept
  }
}

/** The full names of all measures of an activity: SQL has the time of each. */
function otherMeasures(fullName: string): string {
  const { name } = measureOf(fullName)
  return WITH_GONE.map((measure) => `'${measureName(name, measure)}'`).join(', ')
}

function hoursOf(seconds: number): number {
  return Math.round(seconds / 360) / 10
}
