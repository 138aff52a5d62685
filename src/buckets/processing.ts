/**
 * Processing by itself: on a schedule, in one process at a time. A lease in SQL selects the process
 * and saves the others the work; two at a time would do no harm. If a process dies, another one
 * takes the lease when it is over. A run that waits for a slow call is left to itself, and its
 * process gives the lease back: other processes, and later runs of this one, do the rest.
 */
import { warnOfFailure } from '../connections/warn-failure.js'
import { type Database, DatabaseError } from '../database/database.js'
import { bytesOrNull, execute, raw, selectOne, type Sql, sql } from '../database/sql.js'
import type { Timer } from '../support/clock.js'
import { within } from '../support/within.js'
import { type Schedule, schedule } from '../support/schedule.js'
import type { Buckets } from './buckets.js'
import type { Calls } from './calls.js'
import type { Every } from './options.js'
import type { Queue } from './queue.js'

/** Length of a lease, in ms. With `every` in milliseconds, it lasts so long beyond the next run. */
const LEASE_MS = 10_000
/** Longest waits of `close()`, in ms: for a run under way, and for the release of the lease. */
const CLOSE_MS = 5_000
const RELEASE_MS = 1_000

interface Parts {
  readonly every: Every
  readonly queue: Pick<Queue<unknown, unknown>, 'tables' | 'name' | 'environment' | 'logger'> & {
    readonly database: { readonly database: Database }
    readonly buckets: Pick<Buckets, 'enter'>
  }
  readonly calls: Pick<Calls, 'hasSlow'>
  readonly process: () => Promise<unknown>
}

export class Processing {
  readonly #parts: Parts
  /** The table of its lease, and its row there. */
  readonly #all: Sql
  readonly #ofQueue: Sql
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
    const { schedule: every, keepsAlive } = parts.every
    const { environment, tables, name } = parts.queue
    const { clock } = environment
    this.#parts = parts
    this.#all = raw(tables.all)
    this.#ofQueue = sql`${raw(tables.owner)} = ${name}`
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

  get #database(): Database {
    return this.#parts.queue.database.database
  }

  async #release(): Promise<void> {
    await execute(this.#database)`UPDATE ${this.#all} SET lease_owner = NULL, lease_until = 0
      WHERE ${this.#ofQueue} AND lease_owner = ${this.#holder}`
  }

  #stop(): void {
    this.#stopped = true
    this.#schedule?.stop()
    this.#letEnd?.()
  }

  #again(ms: number, run: () => Promise<void>): Schedule {
    const { clock } = this.#parts.queue.environment
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
    const { environment, buckets, logger, tables, name } = this.#parts.queue
    const beganAt = environment.clock.elapsed()
    try {
      await buckets.enter()
      this.#holds = await this.#lease()
      if (this.#holds && !this.#stopped && !(await this.#renewing(beganAt))) return
      logger.recovered('process', `wide-cache: the ${tables.what} "${name}" is processed again`)
    } catch (error) {
      this.#failed(error, beganAt)
    }
  }

  #failed(error: unknown, beganAt: number): void {
    const { logger, tables, name } = this.#parts.queue
    // The owner has closed the database, so processing ends too.
    if (error instanceof DatabaseError && error.code === 'DATABASE_CLOSED') return this.#stop()
    const why = error instanceof Error ? error.message.replace(/^wide-cache: /, '') : String(error)
    warnOfFailure(
      logger,
      'process',
      error,
      `wide-cache: processing the ${tables.what} "${name}" failed and will be retried: ${why}`,
      beganAt,
    )
  }

  /** Takes the lease, or renews it; `false`: another process has it. */
  async #lease(): Promise<boolean> {
    const database = this.#database
    const columns = { leaseOwner: bytesOrNull, leaseUntil: Number }
    const row = await selectOne(database, columns)`FROM ${this.#all} WHERE ${this.#ofQueue}`
    // Read afterwards: no lease that was given by then lies further ahead.
    const now = await database.now()
    const { leaseOwner: holder = null, leaseUntil: until = 0 } = row ?? {}
    // A lease that ends later than one of this process was taken while the clock was ahead, or by a
    // process that comes less often.
    const isOthers = holder && !holder.equals(this.#holder)
    if (isOthers && until > now && until <= now + this.#leaseMs) return false
    // If no answer comes, this process may have the lease, and must give it back.
    this.#holds = true
    // As it was read: another may have taken it meanwhile.
    const { affectedRows } = await execute(database)`UPDATE ${this.#all}
      SET lease_owner = ${this.#holder}, lease_until = ${now + this.#leaseMs}
      WHERE ${this.#ofQueue} AND lease_until = ${until}`
    return affectedRows === 1
  }

  /** Processes, and renews the lease meanwhile. `false`: the run is slow, and has been left. */
  async #renewing(beganAt: number): Promise<boolean> {
    const { queue, calls, process } = this.#parts
    const { clock } = queue.environment
    const working = process()
    let leave = (): void => undefined
    const left = new Promise<false>((resolve) => (leave = () => resolve(false)))
    let over = false
    let timer: Timer
    let renewing: Promise<unknown> = Promise.resolve()
    // What fails here is tried again; at worst another process takes part.
    const renew = (): void => {
      if (calls.hasSlow(beganAt)) return leave()
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
