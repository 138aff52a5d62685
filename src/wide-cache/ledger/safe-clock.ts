import type { Queryable } from '../../database/database.js'
import { execute, selectOne } from '../../database/sql.js'
import { type Clock, DAY_MS, HOUR_MS } from '../../support/clock.js'
import type { BurstLogger } from '../../support/logger.js'

/** Most seconds that the safe clock gains in a second. It makes up a week's rest in 56 h. */
export const SAFE_PACE = 4

/**
 * Most seconds that it loses in a second. A database clock that was ahead is followed back within
 * minutes, and one that begins in 1970 after each start of its machine costs no more than hours.
 */
const FALLING_PACE = 1_000

/** Time behind the database's clock from which on the log tells of it. */
const LATE_MS = DAY_MS

/** Least time that may count between two looks of a collector. */
const COUNTED_MS = 120_000

/** Runs of a cron line that may count between two looks: processes take turns at them. */
const COUNTED_RUNS = 8

export interface SafeClockParts {
  readonly settings: { readonly name: string; readonly periodSeconds: number }
  readonly clock: Clock
  readonly logger: BurstLogger
}

/**
 * The clock by which the collectors of a name close its days and remove what is old. What is
 * removed cannot come back, and the database's clock may be wrong. So the safe clock, in the row of
 * the name, follows it at {@link SAFE_PACE}: while the database's clock is a day ahead for ten
 * minutes, it gains half an hour too much. Where the database's clock is behind, that one counts.
 *
 * A collector changes it by compare-and-set, from the value that it has seen. It gains for the time
 * since then, on its own monotonic clock. The value was the same all that time, so all collectors
 * together gain no more than one. A collector that has not seen the value yet gains nothing.
 */
export class SafeClock {
  readonly #parts: SafeClockParts
  /** Longest time that counts: a process that was suspended has not watched the clock. */
  readonly #longestMs: number
  /** The value in SQL as last seen, and when, by `clock.elapsed()`. */
  #seen: { readonly at: number; readonly since: number } | undefined

  constructor(parts: SafeClockParts) {
    this.#parts = parts
    this.#longestMs = longestMs(parts.settings)
  }

  /**
   * Moves it towards `now`, the database's clock. Returns its time, never ahead of `now`; 0: the
   * name has no row, and nothing has aged.
   *
   * @throws DatabaseError
   */
  async follow(database: Queryable, now: number): Promise<number> {
    const { settings, clock } = this.#parts
    const began = clock.elapsed()
    const seen = this.#seen
    if (seen) {
      const at = reached(seen.at, now, Math.min(began - seen.since, this.#longestMs))
      const { affectedRows } = await execute(database)`UPDATE wide_cache_names SET safe_at = ${at}
        WHERE name = ${settings.name} AND safe_at = ${seen.at}`
      if (affectedRows === 1) {
        this.#seen = { at, since: began }
        return Math.min(at, now)
      }
    }
    // Another collector has changed it, or this one has not seen it yet.
    const found = await readSafeAt(database, settings.name)
    const at = found ?? 0
    this.#seen = { at, since: clock.elapsed() }
    if (found !== undefined && now - at > LATE_MS) this.#sayLate(now - at)
    return Math.min(at, now)
  }

  #sayLate(ms: number): void {
    const { settings, logger } = this.#parts
    const hours = (late: number): string => (late / HOUR_MS).toFixed(0)
    logger.warnOnce(
      'safe clock',
      `wide-cache: no collector of "${settings.name}" has run for ${hours(ms)} h, or the ` +
        "database's clock was wrong; the closing of days and the removal of old rows are late " +
        `by as much, and catch up within ${hours(ms / (SAFE_PACE - 1))} h`,
    )
  }
}

/** Reads the safe clock of a name; `undefined`: it has no row. */
export async function readSafeAt(on: Queryable, name: string): Promise<number | undefined> {
  return (await selectOne(on, { safeAt: Number })`FROM wide_cache_names WHERE name = ${name}`)
    ?.safeAt
}

/**
 * Returns the most milliseconds that the safe clock gains in the lifetime of a cell, with those
 * that it gains at its next look for the time before.
 */
export function gainedWhileCellLives(settings: {
  readonly cellTtlSeconds: number
  readonly periodSeconds: number
}): number {
  return SAFE_PACE * (settings.cellTtlSeconds * 1000 + longestMs(settings))
}

/** Returns the longest time that counts between two looks of a collector. */
function longestMs({ periodSeconds }: { readonly periodSeconds: number }): number {
  return Math.max(COUNTED_MS, COUNTED_RUNS * periodSeconds * 1000)
}

/** The time that a safe clock at `at` reaches within `ms`. */
function reached(at: number, now: number, ms: number): number {
  return Math.floor(Math.min(Math.max(now, at - FALLING_PACE * ms), at + SAFE_PACE * ms))
}
