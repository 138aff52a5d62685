import type { Database, Queryable } from '../database/database.js'
import type { Clock } from '../support/clock.js'
import type { BurstLogger } from '../support/logger.js'
import { MEMO_MS } from './cached-read.js'
import type { ClockWatch } from './clock-watch.js'
import { completeUpTo } from './complete.js'
import type { ReadContext } from './contexts.js'
import { readUsedGrids } from './used-grids.js'

interface CompletenessSettings {
  readonly name: string
  readonly readTtlSeconds: number
  /** Advice for the log if no process collects. */
  readonly collectorRemedy: string
}

interface CompletenessParts {
  readonly settings: CompletenessSettings
  readonly clock: Clock
  readonly logger: BurstLogger
  readonly reading: Queryable
  /** Its migration also enters the name. */
  readonly database: Pick<Database, 'migrate'>
  readonly watch: ClockWatch
}

/** Tells up to which moment all rows of a name are in SQL. */
export class Completeness {
  readonly #parts: CompletenessParts
  readonly #createdAt: number
  /** The moment as last returned, since the Unix epoch; 0: none was. */
  #previous = 0

  constructor(parts: CompletenessParts) {
    this.#parts = parts
    this.#createdAt = parts.clock.elapsed()
  }

  /** Returns that moment, whether it is longer ago than it should be, and when it will be. */
  async read(): Promise<Omit<ReadContext, 'name'> & { readonly readAt: number }> {
    const { settings, reading, database, watch } = this.#parts
    const now = await watch.now(reading)
    let used = await readUsedGrids(reading, settings.name, now)
    if (used.grids.length === 0) {
      // Nobody has entered the name: it begins now.
      await database.migrate()
      used = await readUsedGrids(reading, settings.name, now)
    }
    const answered = watch.estimate ?? now
    const { asOf, overdueMs, collects } = completeUpTo(used, now, answered, this.#previous)
    this.#previous = asOf
    if (!collects) this.#warnOfNoCollector(used.directMs)
    const staleAt = now - overdueMs + settings.readTtlSeconds * 1000 + MEMO_MS
    return { asOf, stale: overdueMs > 0, staleAt, readAt: now }
  }

  #warnOfNoCollector(directMs: number): void {
    const { settings, clock, logger } = this.#parts
    const { name, collectorRemedy } = settings
    // A new grid has its watermark long ago, and its first collector is yet to run.
    if (clock.elapsed() - this.#createdAt <= directMs) return
    logger.warnOnce(
      'no collector',
      `wide-cache: no collector has committed rows of "${name}" for ${directMs / 1000} s, so its ` +
        `figures are at least that old; if none runs, ${collectorRemedy}`,
    )
  }
}
