/**
 * Processing by itself: on a schedule, in one process at a time. A lease in SQL selects the process
 * and saves the others the work; two at a time would do no harm. If a process dies, another one
 * takes the lease when it is over. A run that waits for a slow call is left to itself, and its
 * process gives the lease back: other processes, and later runs of this one, do the rest.
 */
import { warnOfFailure } from '../connections/warn-failure.js'
import { type Database, DatabaseError } from '../database/database.js'
import { DAY_MS, type Timer } from '../support/clock.js'
import type { Environment } from '../support/environment.js'
import type { BurstLogger } from '../support/logger.js'
import { integer, wrongType } from '../support/options.js'
import { within } from '../support/within.js'
import { cronPeriodSeconds, type Schedule, schedule } from '../support/schedule.js'
import type { BucketTables } from './buckets.js'

/** Length of a lease, in ms. With `every` in milliseconds, it lasts so long beyond the next run. */
const LEASE_MS = 10_000
/** Longest waits of `close()`, in ms: for a run under way, and for the release of the lease. */
const CLOSE_MS = 5_000
const RELEASE_MS = 1_000

const DEFAULT_EVERY_MS = 2_000
const LEAST_MS = 10
const ALLOWED = 'milliseconds, a cron line such as "*/10 * * * * *" (every 10 seconds), or false'

/** When to process. */
export interface Every {
  /** Milliseconds between runs, or a cron line. `false`: never. */
  readonly schedule: number | string | false
  /** Whether the process lives for it, because its user has asked for a schedule. */
  readonly keepsAlive: boolean
}

/** @throws TypeError, RangeError naming the option */
export function everyOf(every: unknown): Every {
  if (every === undefined) return { schedule: DEFAULT_EVERY_MS, keepsAlive: false }
  if (every === false) return { schedule: every, keepsAlive: false }
  if (typeof every === 'number') {
    integer('every', every, LEAST_MS, DAY_MS, 'milliseconds')
    return { schedule: every, keepsAlive: true }
  }
  if (typeof every !== 'string') throw wrongType('every', every, ALLOWED)
  cronPeriodSeconds(every, 'every', ALLOWED)
  return { schedule: every, keepsAlive: true }
}

interface Parts {
  readonly every: Every
  readonly names: BucketTables
  readonly id: string
  readonly database: Database
  /** Makes the row for the lease, if there is none. */
  readonly enter: () => Promise<void>
  readonly process: () => Promise<unknown>
  /** Tells whether a call is slow that has begun at a moment of `clock.elapsed()`, or later. */
  readonly hasSlowCall: (since: number) => boolean
  readonly environment: Environment
  readonly logger: BurstLogger
}

export class Processing {
  readonly #parts: Parts
  readonly #holder: Buffer
  readonly #leaseMs: number
  #schedule: Schedule | undefined
  readonly #letEnd: (() => void) | undefined
  #running: Promise<void> | undefined
  /** Runs that have been left to themselves. */
  readonly #left = new Set<Promise<unknown>>()
  #holds = false
  #stopped = false

  constructor(parts: Parts) {
    const {
      every: { schedule: every, keepsAlive },
      environment,
    } = parts
    const { clock } = environment
    this.#parts = parts
    this.#holder = environment.newId()
    // By a cron line all processes run at the same time: they need not keep the lease until the
    // next one.
    this.#leaseMs = LEASE_MS + (typeof every === 'number' ? every : 0)
    const run = () => (this.#running = this.#run())
    if (typeof every === 'string') this.#schedule = schedule(every, run, clock)
    else if (every !== false) this.#schedule = this.#again(every, run)
    if (keepsAlive) this.#letEnd = environment.keepAlive?.()
  }

  /** Runs no more, waits for what is under way, and gives the lease back. Never rejects. */
  async stop(): Promise<void> {
    this.#stop()
    await within(CLOSE_MS, Promise.allSettled([this.#running, ...this.#left]))
    if (this.#holds) await within(RELEASE_MS, this.#release())
  }

  async #release(): Promise<void> {
    const {
      names: { all, owner },
      id,
      database,
    } = this.#parts
    await database.query(
      `UPDATE ${all} SET lease_owner = NULL, lease_until = 0 ` +
        `WHERE ${owner} = ? AND lease_owner = ?`,
      [id, this.#holder],
    )
  }

  #stop(): void {
    this.#stopped = true
    this.#schedule?.stop()
    this.#letEnd?.()
  }

  #again(ms: number, run: () => Promise<void>): Schedule {
    const { clock } = this.#parts.environment
    let timer: Timer
    const plan = (): void => {
      timer = clock.after(
        ms,
        () =>
          void run().then(() => {
            if (!this.#stopped) plan()
          }),
      )
    }
    plan()
    return { stop: () => timer.cancel() }
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const beganAt = this.#parts.environment.clock.elapsed()
    const {
      names: { what },
      id,
      enter,
      logger,
    } = this.#parts
    try {
      await enter()
      this.#holds = await this.#lease()
      if (this.#holds && !this.#stopped && !(await this.#renewing(beganAt))) return
      logger.recovered('process', `wide-cache: the ${what} "${id}" is processed again`)
    } catch (error) {
      this.#failed(error, beganAt)
    }
  }

  #failed(error: unknown, beganAt: number): void {
    const {
      names: { what },
      id,
      logger,
    } = this.#parts
    // The owner has closed the database, so processing ends too.
    if (error instanceof DatabaseError && error.code === 'DATABASE_CLOSED') return this.#stop()
    const why = error instanceof Error ? error.message.replace(/^wide-cache: /, '') : String(error)
    warnOfFailure(
      logger,
      'process',
      error,
      `wide-cache: processing the ${what} "${id}" failed and will be retried: ${why}`,
      beganAt,
    )
  }

  /** Takes the lease, or renews it; `false`: another process has it. */
  async #lease(): Promise<boolean> {
    const {
      names: { all, owner },
      id,
      database,
    } = this.#parts
    const {
      rows: [row],
    } = await database.query(`SELECT lease_owner, lease_until FROM ${all} WHERE ${owner} = ?`, [id])
    // Read afterwards: no lease that was given by then lies further ahead.
    const now = await database.now()
    const holder = row?.['lease_owner']
    const until = Number(row?.['lease_until'])
    // A lease that ends later than one of this process was taken while the clock was ahead, or by a
    // process that comes less often.
    if (
      Buffer.isBuffer(holder) &&
      !holder.equals(this.#holder) &&
      until > now &&
      until <= now + this.#leaseMs
    ) {
      return false
    }
    // If no answer comes, this process may have the lease, and must give it back.
    this.#holds = true
    // As it was read: another may have taken it meanwhile.
    const { affectedRows } = await database.query(
      `UPDATE ${all} SET lease_owner = ?, lease_until = ? WHERE ${owner} = ? AND lease_until = ?`,
      [this.#holder, now + this.#leaseMs, id, until],
    )
    return affectedRows === 1
  }

  /** Processes, and renews the lease meanwhile. `false`: the run is slow, and has been left. */
  async #renewing(beganAt: number): Promise<boolean> {
    const {
      environment: { clock },
      process,
      hasSlowCall,
    } = this.#parts
    const working = process()
    let leave = (): void => undefined
    const left = new Promise<false>((resolve) => (leave = () => resolve(false)))
    let over = false
    let timer: Timer
    let renewing: Promise<unknown> = Promise.resolve()
    // What fails here is tried again; at worst another process takes part.
    const renew = (): void => {
      if (hasSlowCall(beganAt)) return leave()
      renewing = this.#lease()
        .catch(() => false)
        .finally(() => {
          if (!over) plan()
        })
    }
    const plan = (): void => {
      timer = clock.after(LEASE_MS / 3, renew)
    }
    plan()
    try {
      const isDone = await Promise.race([working.then(() => true), left])
      if (isDone) return true
    } finally {
      over = true
      timer!.cancel()
      // One that comes late would take the lease again, after it has been given back.
      await renewing
    }
    const later = working
      .catch((error: unknown) => this.#failed(error, beganAt))
      .finally(() => this.#left.delete(later))
    this.#left.add(later)
    await this.#release()
    this.#holds = false
    return false
  }
}
