import type { Database } from '../../database/database.js'
import type { ClockWatch } from '../clock-watch.js'
import { removeOldEntries } from '../ledger/retention.js'
import { SafeClock, type SafeClockParts } from '../ledger/safe-clock.js'
import type { RetentionContext } from '../contexts.js'

/** Interval at which old data is removed, unless there is more than one call removes. */
const RETENTION_EVERY_MS = 60_000

/** Time of the safe clock after which old entries are looked for again: all are 30 days old. */
const ENTRIES_EVERY_MS = 600_000

/** Least time between two calls of `afterRun`, and of `afterDrain`. */
const AFTER_EVERY_MS = 10_000

/** Rows of a drain after which `afterDrain` is called at once: it costs each of them little. */
const MANY_ROWS = 1_000

interface ChoresSettings {
  readonly name: string
  /** The longest wait between two runs. */
  readonly periodSeconds: number
  readonly removeOld:
    | ((database: Database, context: RetentionContext) => Promise<boolean | void>)
    | undefined
  readonly afterDrain: ((database: Database) => Promise<void>) | undefined
  readonly afterRun: ((database: Database, now: number) => Promise<void>) | undefined
}

export interface ChoresParts extends SafeClockParts {
  readonly settings: ChoresSettings
  readonly database: Database
  readonly watch: ClockWatch
}

/** Work of the lease holder beside draining: removes old data, and recounts. */
export class Chores {
  readonly #parts: ChoresParts
  readonly #safeClock: SafeClock
  #retentionAt = 0
  /** Time of the safe clock when all old entries were removed. */
  #entriesAt = -Infinity
  #afterRunAt = 0
  #afterDrainAt = 0

  constructor(parts: ChoresParts) {
    this.#parts = parts
    this.#safeClock = new SafeClock(parts)
  }

  /** Whether anything is due after a drain that has committed `rows`. */
  isDue(rows: number): boolean {
    const { afterDrain, afterRun } = this.#parts.settings
    const elapsed = this.#parts.clock.elapsed()
    return (
      elapsed >= this.#retentionAt ||
      (afterRun !== undefined && elapsed >= this.#afterRunAt) ||
      (afterDrain !== undefined && this.#isDrained(rows, elapsed))
    )
  }

  /**
   * Does what is due after a drain that has committed `rows`.
   *
   * @param now the database's clock
   */
  async run(now: number, rows: number): Promise<void> {
    const { settings, database, clock } = this.#parts
    const { afterDrain, afterRun } = settings
    const began = clock.elapsed()
    const isMinute = began >= this.#retentionAt
    if (isMinute) await this.#removeOld()
    if (afterRun && began >= this.#afterRunAt) {
      this.#afterRunAt = began + AFTER_EVERY_MS
      await afterRun(database, now)
    }
    // Writers commit directly, too.
    if (afterDrain && (isMinute || this.#isDrained(rows, began))) {
      this.#afterDrainAt = began + AFTER_EVERY_MS
      await afterDrain(database)
    }
  }

  #isDrained(rows: number, elapsed: number): boolean {
    return rows >= MANY_ROWS || (rows > 0 && elapsed >= this.#afterDrainAt)
  }

  async #removeOld(): Promise<void> {
    const { settings, database, clock, watch } = this.#parts
    const { name, removeOld } = settings
    const began = clock.elapsed()
    this.#retentionAt = began + RETENTION_EVERY_MS
    const now = await this.#safeClock.follow(database, await watch.recent(database))
    if (Math.abs(now - this.#entriesAt) >= ENTRIES_EVERY_MS) {
      const areMore = await removeOldEntries(database, name, now)
      if (!areMore) this.#entriesAt = now
    }
    if (await removeOld?.(database, { now, name })) this.#retentionAt = began
  }
}
