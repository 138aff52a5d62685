import type { Queryable } from '../database/database.js'
import type { Clock } from '../support/clock.js'
import type { BurstLogger } from '../support/logger.js'

/**
 * Largest difference between the database's clock and this process's wall clock with which old data
 * is still removed.
 */
const MAX_APART_MS = 600_000

/** A jump shorter than this, beside the time that the answer took, is no step. */
const LEAST_STEP_MS = 1_000

/** Largest drift between two clocks, as a ratio. Slewing by NTP is half of this. */
const DRIFT = 0.001

/** Time for which a reading of the database's clock is good enough for an estimate. */
const RECENT_MS = 10_000

/**
 * One reading of the database's clock, with the wall clock, and the moments of the monotonic clock
 * between which it was read.
 */
interface Reading {
  readonly database: number
  readonly wall: number
  readonly asked: number
  readonly answered: number
}

/**
 * Compares the database's clock with the two clocks of the process. The protocol relies on no
 * clock, but data removed for its age cannot come back. So removal waits until the clocks have
 * agreed for some time.
 */
export class ClockWatch {
  readonly #clock: Clock
  readonly #logger: BurstLogger
  #last: Reading | undefined
  /** Moment since which the database's clock has run in step with the monotonic clock. */
  #steadySince = 0
  /** Moment since which it has also agreed with the wall clock. */
  #agreedSince = 0
  #wentBackAt = -Infinity

  constructor(clock: Clock, logger: BurstLogger) {
    this.#clock = clock
    this.#logger = logger
  }

  /** Reads the database's clock: milliseconds since the Unix epoch. */
  async now(queryable: Pick<Queryable, 'now'>): Promise<number> {
    const asked = this.#clock.elapsed()
    const database = await queryable.now()
    this.#compare({ database, wall: this.#clock.now(), asked, answered: this.#clock.elapsed() })
    return database
  }

  /**
   * Returns the database's clock by a reading at most 10 s old, carried on by the monotonic clock.
   * For work that runs each second. A step of the database's clock is noticed up to 10 s later.
   */
  async recent(queryable: Pick<Queryable, 'now'>): Promise<number> {
    const { estimate } = this
    const isRecent = this.#last && this.#clock.elapsed() - this.#last.answered < RECENT_MS
    return isRecent && estimate !== undefined ? Math.floor(estimate) : this.now(queryable)
  }

  /** The database's clock now, by its last reading; `undefined` before the first. */
  get estimate(): number | undefined {
    return this.#last && this.#last.database + this.#clock.elapsed() - this.#last.answered
  }

  /** Milliseconds for which the database's clock has run steadily, up to the last reading. */
  get steadyMs(): number {
    return this.#last ? this.#last.answered - this.#steadySince : 0
  }

  /** Milliseconds for which all three clocks have agreed, up to the last reading. */
  get agreedMs(): number {
    return this.#last ? this.#last.answered - this.#agreedSince : 0
  }

  /**
   * Moment at which the database's clock was last seen to have gone back, by `clock.elapsed()`.
   * Until then it had been ahead.
   */
  get wentBackAt(): number {
    return this.#wentBackAt
  }

  #compare(reading: Reading): void {
    const last = this.#last
    // Answers may overtake each other. That of the older question is less exact.
    if (last && reading.asked < last.asked) return
    this.#last = reading
    if (!last) this.#steadySince = this.#agreedSince = reading.answered
    const database = last
      ? stepOf(
          reading.database - last.database,
          reading.asked - last.answered,
          reading.answered - last.asked,
        )
      : 0
    const wall = last
      ? stepOf(
          reading.wall - last.wall,
          reading.answered - last.answered,
          reading.answered - last.answered,
        )
      : 0
    if (database !== 0) this.#steadySince = reading.answered
    if (database < 0) this.#wentBackAt = reading.answered
    if (database !== 0 || wall !== 0 || this.#apart(reading)) this.#agreedSince = reading.answered
    if (database !== 0) this.#say("the database's clock", database)
    if (wall !== 0) this.#say("this process's clock", wall)
  }

  #apart({ database, wall }: Reading): boolean {
    const apart = database - wall
    if (Math.abs(apart) <= MAX_APART_MS) return false
    this.#logger.warn(
      'clocks apart',
      `wide-cache: the database's clock is ${seconds(Math.abs(apart))} s ` +
        `${apart > 0 ? 'ahead of' : 'behind'} this process's; ` +
        'this process removes nothing old until they are within 10 minutes; set the wrong ' +
        'one right',
    )
    return true
  }

  #say(whose: string, step: number): void {
    this.#logger.warn(
      'clock step',
      `wide-cache: ${whose} stepped by ${seconds(step)} s; rows go on being committed, and ` +
        'nothing old is removed for 10 minutes',
    )
  }
}

/**
 * Returns the milliseconds that a clock has jumped, if between `least` and `most` milliseconds have
 * passed and it has moved by `moved`.
 */
function stepOf(moved: number, least: number, most: number): number {
  const slack = LEAST_STEP_MS + DRIFT * Math.max(0, most)
  if (moved > most + slack) return moved - most
  if (moved < least - slack) return moved - least
  return 0
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(0)
}
