import { warnOfFailure } from '../../connections/warn-failure.js'
import { type Database, DatabaseError } from '../../database/database.js'
import type { Timer } from '../../support/clock.js'
import type { Environment } from '../../support/environment.js'
import { messageOf } from '../../support/errors.js'
import type { BurstLogger } from '../../support/logger.js'
import type { ClockWatch } from '../clock-watch.js'
import { type GridRecord, LEASE_MS, type Run } from '../ledger/grid-record.js'
import type { Runs } from '../operations/runs.js'
import type { PublishedWatermark } from '../published-watermark.js'
import { type Schedule, schedule } from '../../support/schedule.js'
import type { Chores } from './chores.js'
import type { Collector, DrainOptions } from './collector.js'
import type { DrainReport } from './grid-drain.js'

/** Interval at which the collector renews its lease, whatever the length of a layer. */
const RENEW_MS = LEASE_MS / 2

/** Interval at which a process looks whether the lease is free. */
const LOOK_MS = 20_000

/**
 * One in this many looks asks SQL, which mostly takes a new connection. The others ask the cache
 * whether a watermark is published.
 */
const LOOKS_IN_SQL = 15

/**
 * Wait from the end of a layer until a run begins. The margin is there because the database's clock
 * is only known to some milliseconds. The jitter keeps the collectors of several names from
 * beginning all at once.
 */
const MARGIN_MS = 20
const JITTER_MS = 60

/** Wait before the first look, and after a run that has failed. */
const FIRST_LOOK_MS = 1_000
const AFTER_FAILURE_MS = 5_000
const AFTER_CONFLICT_MS = 500

interface CollectingParts {
  readonly name: string
  readonly environment: Environment
  readonly logger: BurstLogger
  readonly database: Database
  readonly record: GridRecord
  readonly watch: ClockWatch
  readonly published: PublishedWatermark
  readonly collector: Collector
  readonly chores: Chores
  readonly runs: Runs
  /** Drains, after other drains of this process. */
  readonly drain: (options: DrainOptions) => Promise<DrainReport>
  /** Learns whether this process's cache is that of the collectors. */
  readonly compare: () => Promise<void>
}

/**
 * Runs the collector of this process. With a cron line, it asks for the lease at each moment of the
 * line, and gives it back after the run. Otherwise one process takes the lease and keeps it. That
 * process drains a layer as soon as it is old enough, and the others look now and then whether the
 * lease is free.
 */
export class Collecting {
  readonly #parts: CollectingParts
  readonly #periodSeconds: number
  readonly #schedule: Schedule | undefined
  #timer: Timer | undefined
  #stopped = false
  #running: Promise<void> | undefined
  /** Chores that a steady run has begun. */
  #doing: Promise<void> | undefined
  #choresFail = false
  /**
   * Moment to renew the lease, by `clock.elapsed()`; `undefined`: this process does not hold it.
   */
  #renewAt: number | undefined
  /** Looks since this process has last held the lease. */
  #looks = 0
  /** Whether SQL may have this process as the holder of the lease. */
  #toRelease = false
  /** The last run, until SQL has recorded it. */
  #run: Run | undefined

  /** @param when a cron line, or `true`: as soon as a layer is old enough */
  constructor(parts: CollectingParts, when: true | string, periodSeconds: number) {
    this.#parts = parts
    this.#periodSeconds = periodSeconds
    const { environment } = parts
    if (when === true) this.#after(environment.random() * FIRST_LOOK_MS)
    else this.#schedule = schedule(when, () => (this.#running = this.#runOnce()), environment.clock)
  }

  /** Begins no more runs. */
  stop(): void {
    this.#stopped = true
    this.#schedule?.stop()
    this.#timer?.cancel()
  }

  /** Resolves when the last run has ended and the lease is given back. Never rejects. */
  async end(): Promise<void> {
    this.stop()
    await Promise.all([this.#running, this.#doing])
    if (!this.#toRelease) return
    const { record, database, published } = this.#parts
    if (record.grid) await published.withdraw(record.grid)
    await record.release(database, this.#run).catch(() => undefined)
  }

  #after(ms: number): void {
    if (this.#stopped) return
    this.#timer = this.#parts.environment.clock.after(ms, () => {
      this.#running = this.#turn().then((wait) => this.#after(wait))
    })
  }

  /** Does one look, or one run. Returns the milliseconds to wait before the next. */
  async #turn(): Promise<number> {
    const { watch, database, environment, collector, runs } = this.#parts
    try {
      // Before the lease is asked for: nothing has to be given back if this fails.
      await database.migrate()
      const steady = this.#renewAt !== undefined
      if (!(await this.#hasLease())) {
        runs.standBy()
        this.#ended(false)
        // From here on the processes look at different moments.
        return this.#looks > 1 ? LOOK_MS : environment.random() * LOOK_MS
      }
      const now = await watch.recent(database)
      this.#run = await this.#drain(now, { steady })
      this.#ended(this.#choresFail)
      this.#doChores(now)
      const wait = collector.msToNextLayer(watch.estimate ?? now)
      return Math.min(wait + MARGIN_MS + environment.random() * JITTER_MS, RENEW_MS)
    } catch (error) {
      this.#failed(error)
      if (isForGood(error)) void this.end()
      // Another transaction has met this one: that says nothing of the servers.
      if (this.#renewAt !== undefined && isConflict(error)) return AFTER_CONFLICT_MS
      const stoodBy = this.#renewAt === undefined && this.#looks > 1
      // The next run takes nothing as known.
      this.#renewAt = undefined
      if (!stoodBy) this.#looks = 0
      return stoodBy ? LOOK_MS : AFTER_FAILURE_MS
    }
  }

  /** Tells whether this process holds the lease. Asks for it, or renews it, when that is due. */
  async #hasLease(): Promise<boolean> {
    const { record, watch, database, environment } = this.#parts
    const elapsed = environment.clock.elapsed()
    if (this.#renewAt !== undefined && elapsed < this.#renewAt) return true
    if (this.#renewAt === undefined && !(await this.#mayBeFree())) return false
    this.#toRelease = true
    const now = await watch.recent(database)
    const isOurs = await record.lease(database, now, this.#periodSeconds, this.#run)
    this.#renewAt = isOurs ? elapsed + RENEW_MS : undefined
    this.#toRelease = isOurs
    this.#run = undefined
    if (isOurs) this.#looks = 0
    return isOurs
  }

  /** Tells whether it is worth asking for the lease. */
  async #mayBeFree(): Promise<boolean> {
    const { record, watch, published, compare } = this.#parts
    const look = this.#looks++
    if (look === 0) return true
    const { grid } = record
    if (grid && look % LOOKS_IN_SQL !== 0) return !(await published.isKept(grid))
    await compare()
    return record.isFree(watch.estimate ?? 0)
  }

  /** Does a run by the cron line. Never rejects. */
  async #runOnce(): Promise<void> {
    const { database } = this.#parts
    try {
      await database.migrate()
      await this.#runIfLeased()
      this.#ended(false)
    } catch (error) {
      this.#failed(error)
      if (isForGood(error)) void this.end()
    }
  }

  async #runIfLeased(): Promise<void> {
    const { watch, database, record, chores, runs, compare } = this.#parts
    const now = await watch.now(database)
    if (!(await record.lease(database, now, this.#periodSeconds))) {
      runs.standBy()
      return compare()
    }
    let run: Run | undefined
    try {
      run = await this.#drain(now, {})
      await chores.run(now)
    } finally {
      await record.release(database, run)
    }
  }

  async #drain(now: number, options: DrainOptions): Promise<Run> {
    const { environment, drain } = this.#parts
    const began = environment.clock.elapsed()
    const { committed } = await drain(options)
    const ms = Math.round(environment.clock.elapsed() - began)
    return { at: Math.round(now) + ms, rows: committed, ms }
  }

  /** Begins the chores that are due. The runs do not wait for them. */
  #doChores(now: number): void {
    const { chores } = this.#parts
    if (this.#stopped || this.#doing || !chores.due) return
    this.#doing = chores
      .run(now)
      .then(
        () => {
          this.#choresFail = false
        },
        (error: unknown) => {
          this.#choresFail = true
          this.#failed(error)
        },
      )
      .finally(() => {
        this.#doing = undefined
      })
  }

  #ended(failed: boolean): void {
    const { runs, logger } = this.#parts
    runs.ended(failed)
    if (!failed) logger.recovered('collect', 'wide-cache: collecting again')
  }

  #failed(error: unknown): void {
    // close() did not wait for it: what it has not drained, others will.
    if (this.#stopped) return
    const { runs, logger, name } = this.#parts
    runs.ended(true)
    warnOfFailure(
      logger,
      'collect',
      error,
      `wide-cache: collecting "${name}" failed and ` +
        (isForGood(error) ? 'is left to other processes: ' : 'will be tried again: ') +
        messageOf(error),
    )
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && error.kind === 'lock'
}

/** Tells whether this process commits nothing any more, and should let others collect. */
function isForGood(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === 'DATABASE_TRANSACTION_LOST'
}
