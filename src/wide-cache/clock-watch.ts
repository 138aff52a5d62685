import type { Queryable } from '../database/database.js'
import { hostname } from 'node:os'
import type { Clock } from '../support/clock.js'
import type { BurstLogger } from '../support/logger.js'

/** Difference between the database's clock and this process's wall clock that is reported. */
const LEAST_DIFFERENCE_MS = 3_000

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
interface ClockReading {
  readonly database: number
  readonly wall: number
  readonly asked: number
  readonly answered: number
}

/**
 * Reads the database's clock, so that what processes record is of one clock, and tells where it and
 * those of the process differ.
 */
export class ClockWatch {
  /**
   * A clock with the database's time: by its last reading, or the wall clock's before the first.
   */
  readonly clock: Clock
  readonly #clock: Clock
  readonly #logger: BurstLogger
  #last: ClockReading | undefined
  /**
   * Milliseconds by which the database's clock is ahead of the monotonic clock, for what is
   * recorded: an answer was made between its question and its arrival, so a late one says little.
   */
  #ahead = 0
  #wentBackAt = -Infinity

  constructor(clock: Clock, logger: BurstLogger) {
    this.#clock = clock
    this.#logger = logger
    this.clock = {
      now: () => this.#time(),
      elapsed: () => clock.elapsed(),
      after: (ms, callback) => clock.after(ms, callback),
    }
  }

  /** Reads the database's clock: milliseconds since the Unix epoch. */
  async now(queryable: Pick<Queryable, 'now'>): Promise<number> {
    const asked = this.#clock.elapsed()
    const wall = this.#clock.now()
    const database = await queryable.now()
    // The machine has slept since the question: the answer may be of before.
    if (this.#leapSince({ wall, answered: asked }) > 0) return this.now(queryable)
    const answered = this.#clock.elapsed()
    this.#compare({ database, wall: this.#clock.now(), asked, answered })
    return database
  }

  /**
   * Returns the database's clock by a reading at most 10 s old, carried on by the monotonic clock.
   * For work that runs each second. A step of the database's clock is noticed up to 10 s later.
   */
  async recent(queryable: Pick<Queryable, 'now'>): Promise<number> {
    const { estimate } = this
    const last = this.#last
    const isRecent =
      last && this.#clock.elapsed() - last.answered < RECENT_MS && this.#leapSince(last) === 0
    return isRecent && estimate !== undefined ? Math.floor(estimate) : this.now(queryable)
  }

  /**
   * Lower bound of the database's clock now, by its last reading; `undefined` before the first one.
   */
  get estimate(): number | undefined {
    return this.#last && this.#last.database + this.#clock.elapsed() - this.#last.answered
  }

  /**
   * Moment at which the database's clock was last seen to have gone back, by `clock.elapsed()`.
   * Until then it had been ahead.
   */
  get wentBackAt(): number {
    return this.#wentBackAt
  }

  /**
   * Milliseconds by which the database's clock is ahead of the wall clock, as last read; 0: they
   * agree to {@link LEAST_DIFFERENCE_MS}, or it has not been read.
   */
  get differenceMs(): number {
    const last = this.#last
    if (!last) return 0
    // It was read at some moment between the question and the answer.
    const least = last.database - last.wall
    const most = least + last.answered - last.asked
    if (least > LEAST_DIFFERENCE_MS) return least
    return most < -LEAST_DIFFERENCE_MS ? most : 0
  }

  /** Describes a difference of the clocks; `undefined`: they agree. */
  get trouble(): string | undefined {
    const difference = this.differenceMs
    if (difference === 0) return undefined
    return (
      `the clock of this host (${hostname()}) is ${seconds(Math.abs(difference))} s ` +
      `${difference > 0 ? 'behind' : 'ahead of'} the database's`
    )
  }

  #time(): number {
    const last = this.#last
    if (!last) return this.#clock.now()
    // The monotonic clock stands still while the machine sleeps. A wall clock that was wrong may
    // have been set right instead.
    const wall = this.#clock.now()
    const elapsed = this.#clock.elapsed()
    const slept = this.differenceMs === 0 ? this.#leapSince(last, wall, elapsed) : 0
    return Math.floor(this.#ahead + elapsed + slept)
  }

  /**
   * Milliseconds by which the wall clock has leapt forward since a reading; 0: it has not. A
   * reading takes the wall clock second and a comparison takes it first, so that a process that
   * stands still between the two clocks does not look like a machine that has slept.
   */
  #leapSince(
    since: Pick<ClockReading, 'wall' | 'answered'>,
    wall = this.#clock.now(),
    elapsed = this.#clock.elapsed(),
  ): number {
    const leap = wall - since.wall - (elapsed - since.answered)
    return leap > LEAST_DIFFERENCE_MS ? leap : 0
  }

  #compare(reading: ClockReading): void {
    const last = this.#last
    // Answers may overtake each other. That of the older question is less exact.
    if (last && reading.asked < last.asked) return
    this.#last = reading
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
    const [least, most] = [reading.database - reading.answered, reading.database - reading.asked]
    const carried = last ? this.#ahead - DRIFT * (reading.answered - last.answered) : least
    this.#ahead = database === 0 ? Math.min(most, Math.max(least, carried)) : least
    if (database < 0) this.#wentBackAt = reading.answered
    this.#sayIfDifferent()
    const roundTrips = reading.answered - reading.asked + (last ? last.answered - last.asked : 0)
    if (database > 0 && wall > 0 && Math.abs(database - wall) <= LEAST_STEP_MS + roundTrips) {
      // Seen from the monotonic clock, which stands still while a machine sleeps.
      this.#say("this host slept, or the database's and this process's clocks", wall)
    } else {
      if (database !== 0) this.#say("the database's clock", database)
      if (wall !== 0) this.#say("this process's clock", wall)
    }
  }

  /** Says in the log how far the clocks are apart. */
  #sayIfDifferent(): void {
    const { trouble } = this
    if (trouble === undefined) {
      this.#logger.recovered(
        'clocks apart',
        'wide-cache: the clocks of this host and the database agree again',
      )
      return
    }
    this.#logger.warn(
      'clocks apart',
      `wide-cache: ${trouble}; this process records by the database's clock; correct the ` +
        'wrong clock',
    )
  }

  #say(whose: string, step: number): void {
    this.#logger.warn(
      'clock step',
      `wide-cache: ${whose} stepped by ${seconds(step)} s; counting goes on, and the ` +
        'removal of old rows follows slowly',
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
