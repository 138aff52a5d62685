import { type GridRecord, keepsLease, LEASE_MS, type Run } from '../ledger/grid-record.js'
import type { JoiningParts } from '../joining.js'
import type { PublishedWatermark } from '../published-watermark.js'

/** Interval at which a lease that is kept is renewed. */
const RENEW_MS = LEASE_MS / 2

/** Longest wait from a moment of the cron line until a layer ends, and a run begins. */
export const MAX_WAIT_MS = 3_000

/**
 * One in this many looks asks SQL in any case, which mostly takes a new connection. The others do
 * so only if the cache shows no watermark: then the collector has gone, or has another cache.
 */
const LOOKS_IN_SQL = 20

export interface LeaseParts extends Pick<JoiningParts, 'clock' | 'database' | 'watch'> {
  /** Also reads until when the lease is held. */
  readonly heartbeat: () => Promise<void>
  readonly record: GridRecord
  readonly published: PublishedWatermark
}

/**
 * The lease of a name's collectors, as one of them asks for it, renews it and gives it back. It
 * saves work, and no count relies on it.
 */
export class Lease {
  /** Whether it is kept between runs. Otherwise each run asks for it, and gives it back. */
  readonly isKept: boolean
  readonly #parts: LeaseParts
  readonly #periodSeconds: number
  /** Moment to renew it, by `clock.elapsed()`. `undefined`: this process keeps none. */
  #renewAt: number | undefined
  /** Looks since this process has last held it. */
  #looks = 0
  /** Whether SQL may have this process as its holder. */
  #toRelease = false
  /** The last run, until SQL has recorded it. */
  #lastRun: Run | undefined
  /** Moment since which the watermark has risen last, by `clock.elapsed()`. */
  #raisedAt = -Infinity

  /** @param periodSeconds the longest wait between two runs */
  constructor(parts: LeaseParts, periodSeconds: number) {
    this.#parts = parts
    this.#periodSeconds = periodSeconds
    this.isKept = keepsLease(periodSeconds)
  }

  /** Whether this process keeps it, as far as it knows. */
  get isOurs(): boolean {
    return this.#renewAt !== undefined
  }

  /** Whether this process has looked more than once, and another one held it each time. */
  get isOthers(): boolean {
    return this.#renewAt === undefined && this.#looks > 1
  }

  /** Tells whether this process holds it. Asks for it, or renews it, when that is due. */
  async take(): Promise<boolean> {
    const { clock, record, watch, database } = this.#parts
    const elapsed = clock.elapsed()
    if (this.#renewAt !== undefined && elapsed < this.#renewAt) return true
    const isRenewed = record.isRenewedByRaise && elapsed < this.#raisedAt + this.#renewMs
    if (this.#renewAt !== undefined && isRenewed) {
      this.#renewAt = this.#raisedAt + this.#renewMs
      record.lastRun = this.#lastRun
      return true
    }
    if (this.isKept && this.#renewAt === undefined && !(await this.#mayBeFree())) return false
    const now = await watch.recent(database)
    this.#toRelease = true
    const isOurs = await record.lease(database, now, this.#periodSeconds, this.#lastRun)
    this.#lastRun = undefined
    this.#renewAt = isOurs && this.isKept ? elapsed + this.#renewMs : undefined
    this.#toRelease = isOurs
    if (isOurs) this.#looks = 0
    return isOurs
  }

  /**
   * Has SQL record a run, when the lease is renewed or given back.
   *
   * @param raisedSince the moment since which the run has raised the watermark, by
   *   `clock.elapsed()`; `undefined`: it has not
   */
  note(run: Run, raisedSince: number | undefined): void {
    this.#lastRun = run
    this.#raisedAt = raisedSince ?? this.#raisedAt
    this.#parts.record.lastRun = undefined
  }

  /**
   * Has the next {@link take} ask SQL, because a run has failed. If another process has held the
   * lease, the looks go on as before.
   */
  doubt(): void {
    if (!this.isOthers) this.#looks = 0
    this.#renewAt = undefined
  }

  /** Gives it back. */
  async release(): Promise<void> {
    const { record, database } = this.#parts
    await record.release(database, this.#lastRun)
    this.#lastRun = undefined
    this.#toRelease = false
  }

  /** Gives it back for good, and tells the other processes that its collector has ended. */
  async end(): Promise<void> {
    if (!this.#toRelease) return
    const { record, published } = this.#parts
    if (record.grid) await published.withdraw(record.grid)
    await this.release().catch(() => undefined)
  }

  /** A later run may begin so long after its moment that the lease would be over. */
  get #renewMs(): number {
    return Math.min(RENEW_MS, LEASE_MS - this.#periodSeconds * 1000 - 2 * MAX_WAIT_MS)
  }

  /** Tells whether it is worth asking for. */
  async #mayBeFree(): Promise<boolean> {
    const { record, watch, published, heartbeat } = this.#parts
    const look = this.#looks++
    if (look === 0) return true
    const { grid } = record
    if (grid && look % LOOKS_IN_SQL !== 0 && (await published.isKept(grid))) return false
    await heartbeat()
    return record.isFree(watch.estimate ?? 0)
  }
}
