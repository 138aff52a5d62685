import { warnOfFailure } from '../../connections/warn-failure.js'
import { DatabaseError } from '../../database/database.js'
import { type TimeLimit, timeLimit } from '../../support/clock.js'
import type { Environment } from '../../support/environment.js'
import { messageOf } from '../../support/errors.js'
import type { BurstLogger } from '../../support/logger.js'
import { type Schedule, schedule } from '../../support/schedule.js'
import type { DrainTurns } from './drain-turns.js'
import { Lease, type LeaseParts, MAX_WAIT_MS } from './lease.js'
import type { NameDrain } from './name-drain.js'

/** Interval at which a process looks whether the lease is free. */
const LOOK_MS = 15_000

/**
 * Wait until a run begins, from the end of a layer where that is near. The margin is there because
 * the database's clock is only known to some milliseconds: a run that begins just before a layer
 * ends leaves that layer to the next run. The jitter keeps the collectors of several names from
 * beginning all at once.
 */
const MARGIN_MS = 20
const JITTER_MS = 60

/** Wait after a run that has failed, and after one that the locks of others have stopped. */
const AFTER_FAILURE_MS = 5_000
const AFTER_CONFLICT_MS = 500

/** Work of the process that holds the lease, beside draining. */
interface Chores {
  /** Whether anything is due after a drain that has committed `rows`. */
  isDue(rows: number): boolean
  /** Does it. `now`: the database's clock. */
  run(now: number, rows: number): Promise<void>
}

interface CollectorParts extends LeaseParts {
  readonly settings: { readonly name: string }
  readonly environment: Environment
  readonly logger: BurstLogger
  readonly nameDrain: Pick<NameDrain, 'msToNextLayer'>
  readonly turns: DrainTurns
  readonly chores: Chores
}

/**
 * Collects in this process at the moments of a cron line. Where they are near each other,
 * one process takes the lease and keeps it, and the others look now and then whether it is free.
 * Otherwise each asks for the lease at each moment, and gives it back after its run.
 */
export class Collector {
  readonly #parts: CollectorParts
  readonly #lease: Lease
  readonly #schedule: Schedule
  #stopped = false
  /** The wait until a run begins, or is repeated. */
  #waiting: TimeLimit | undefined
  #running: Promise<unknown> | undefined
  /** Chores that a run has begun. */
  #doing: Promise<void> | undefined
  #choresFail = false
  /** Moment before which the cron line's moments do not count, by `clock.elapsed()`. */
  #restUntil = -Infinity

  /**
   * @param line the cron line
   * @param periodSeconds the longest wait between two of its moments
   */
  constructor(parts: CollectorParts, line: string, periodSeconds: number) {
    this.#parts = parts
    this.#lease = new Lease(parts, periodSeconds)
    const { clock } = parts.environment
    this.#schedule = schedule(line, (msToNext) => this.#moment(msToNext), clock)
  }

  /** Begins no more runs. */
  stop(): void {
    this.#stopped = true
    this.#waiting?.cancel()
    this.#schedule.stop()
  }

  /** Resolves when the last run has ended and the lease is given back. Never rejects. */
  async end(): Promise<void> {
    this.stop()
    await Promise.all([this.#running, this.#doing])
    await this.#lease.end()
  }

  /** Looks for the lease, or runs. Repeats a run that the locks of others stop. Never rejects. */
  async #moment(msToNext: number): Promise<void> {
    if (this.#elapsed < this.#restUntil) return
    await this.#wait(this.#msToBegin(msToNext))
    while (!this.#stopped && (await (this.#running = this.#meetsLocks()))) {
      await this.#wait(AFTER_CONFLICT_MS)
    }
  }

  /** Waits; for ever, if it is stopped meanwhile. */
  async #wait(ms: number): Promise<void> {
    if (this.#stopped) return
    this.#waiting = timeLimit(this.#parts.environment.clock, ms)
    await this.#waiting.over
  }

  get #elapsed(): number {
    return this.#parts.environment.clock.elapsed()
  }

  /**
   * Returns the milliseconds to wait until a run begins: until a layer has ended, if it does so
   * before the next moment.
   */
  #msToBegin(msToNext: number): number {
    const { watch, nameDrain, environment } = this.#parts
    const { estimate } = watch
    const ms = estimate === undefined ? Infinity : nameDrain.msToNextLayer(estimate)
    const isNear = ms + MARGIN_MS + JITTER_MS < Math.min(msToNext, MAX_WAIT_MS)
    return (isNear ? ms : 0) + MARGIN_MS + environment.random() * JITTER_MS
  }

  /** Looks for the lease, or runs. Tells whether the locks of others have stopped the run. */
  async #meetsLocks(): Promise<boolean> {
    const beganAt = this.#elapsed
    try {
      // Before the lease is asked for: nothing has to be given back if this fails.
      await this.#parts.database.migrate()
      await this.#run()
      return false
    } catch (error) {
      this.#failed(error, beganAt)
      if (isForGood(error)) void this.end()
      // A conflict does not mean that a server is in trouble.
      if (isConflict(error)) return true
      this.#restUntil = this.#elapsed + (this.#lease.isOthers ? LOOK_MS : AFTER_FAILURE_MS)
      this.#lease.doubt()
      return false
    }
  }

  async #run(): Promise<void> {
    const { watch, database, environment, turns, heartbeat, logger, settings } = this.#parts
    const lease = this.#lease
    const continues = lease.isOurs
    if (!(await lease.take())) {
      turns.standBy()
      turns.ended(false)
      if (lease.isOthers) {
        logger.recovered('collect', `wide-cache: another process collects "${settings.name}" now`)
      }
      if (!lease.isKept) return heartbeat()
      // From here on the processes look at different moments.
      const untilLook = lease.isOthers ? LOOK_MS : environment.random() * LOOK_MS
      this.#restUntil = this.#elapsed + untilLook
      return
    }
    try {
      const now = await watch.recent(database)
      const began = this.#elapsed
      const { committed: rows, layers } = await turns.drain({ continues })
      const ms = Math.round(this.#elapsed - began)
      lease.note({ at: Math.round(now) + ms, rows, ms }, layers > 0 ? began : undefined)
      this.#beginChores(now, rows)
      if (!lease.isKept) await this.#doing
    } finally {
      if (!lease.isKept) await lease.release()
    }
    this.#ended(this.#choresFail)
  }

  /** Begins the chores that are due. Runs that follow each other soon do not wait for them. */
  #beginChores(now: number, rows: number): void {
    const { chores } = this.#parts
    if (this.#stopped || this.#doing || !chores.isDue(rows)) return
    const beganAt = this.#elapsed
    this.#doing = chores
      .run(now, rows)
      .then(
        () => {
          this.#choresFail = false
        },
        (error: unknown) => {
          this.#choresFail = true
          this.#failed(error, beganAt)
        },
      )
      .finally(() => {
        this.#doing = undefined
      })
  }

  #ended(failed: boolean): void {
    const { turns, logger, settings } = this.#parts
    turns.ended(failed)
    if (!failed) logger.recovered('collect', `wide-cache: collecting "${settings.name}" again`)
  }

  #failed(error: unknown, beganAt: number): void {
    // close() has not waited for this run. Another collector drains the rest.
    if (this.#stopped) return
    const { turns, logger, settings } = this.#parts
    turns.ended(true)
    warnOfFailure(
      logger,
      'collect',
      error,
      `wide-cache: collecting "${settings.name}" failed and ` +
        (isForGood(error) ? 'is left to other processes: ' : 'will be retried: ') +
        messageOf(error),
      beganAt,
    )
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && error.category === 'lock'
}

/** Tells whether this process commits nothing any more, and should let others collect. */
function isForGood(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === 'DATABASE_TRANSACTION_LOST'
}
