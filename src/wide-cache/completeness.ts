import type { Queryable } from '../database/database.js'
import type { Clock } from '../support/clock.js'
import type { BurstLogger } from '../support/logger.js'
import { MEMO_MS } from './cached-read.js'
import type { ClockWatch } from './clock-watch.js'
import type { GridSettings } from './grid-options.js'
import type { GridRecord } from './ledger/grid-record.js'
import { completeUpTo } from './complete.js'
import type { ReadContext } from './contexts.js'

interface CompletenessSettings extends Pick<
  GridSettings,
  'directSeconds' | 'periodSeconds' | 'drainAfterLayers' | 'flushMs'
> {
  readonly name: string
  readonly readTtlSeconds: number
  /** What to do if no process collects, for the log. */
  readonly collectorRemedy: string
}

interface CompletenessParts {
  readonly settings: CompletenessSettings
  readonly clock: Clock
  readonly logger: BurstLogger
  readonly database: Queryable
  readonly record: GridRecord
  readonly watch: ClockWatch
}

/** Tells up to which moment all rows of a name are in SQL. */
export class Completeness {
  readonly #parts: CompletenessParts
  readonly #createdAt: number

  constructor(parts: CompletenessParts) {
    this.#parts = parts
    this.#createdAt = parts.clock.elapsed()
  }

  /** Returns that moment, whether it is longer ago than it should be, and when it will be. */
  async read(): Promise<Omit<ReadContext, 'name'> & { readonly readAt: number }> {
    const { settings, database, record, watch } = this.#parts
    const now = await watch.now(database)
    const states = await record.states(database)
    const { asOf, overdueMs, byWriters } = completeUpTo(states, now, settings)
    if (byWriters) this.#warnOfNoCollector()
    const staleAt = now - overdueMs + settings.readTtlSeconds * 1000 + MEMO_MS
    return { asOf, stale: overdueMs > 0, staleAt, readAt: now }
  }

  #warnOfNoCollector(): void {
    const { settings, clock, logger } = this.#parts
    const { name, directSeconds, collectorRemedy } = settings
    // A new grid has its watermark long ago, and its first collector is yet to run.
    if (clock.elapsed() - this.#createdAt <= directSeconds * 1000) return
    logger.warnOnce(
      'no collector',
      `wide-cache: nobody collects "${name}", so its figures are ${directSeconds} s old; ` +
        collectorRemedy,
    )
  }
}
