import type { Cache } from '../cache/cache.js'
import type { CalendarSource } from '../support/calendar.js'
import type { Clock, Timer } from '../support/clock.js'
import type { BurstLogger } from '../support/logger.js'
import { DailySalt } from './salt.js'
import { VisitorHashes, bounded } from './visitor.js'

/**
 * Longest wait of a visit for the first salt of the process, and for a later one. The first needs
 * the database, which may be making its tables.
 */
const FIRST_PATIENCE_MS = 5_000
const PATIENCE_MS = 1_000

/** Visits that may wait; hashing so many when the salt comes takes a few milliseconds. */
const MAX_WAITING = 1_000

/**
 * Takes a visit: its time, a hash of the visitor (`null`: unknown), its subject, which is a page or
 * an item, and the time at which it was recorded.
 */
export type Forward<Subject> = (
  time: number,
  visitor: Buffer | null,
  subject: Subject,
  recordedAt: number,
) => void

export interface PseudonymizerParts<Subject> {
  readonly cache: Cache
  /** Returns the database's secret. */
  readonly secret: () => Promise<Buffer>
  readonly name: string
  readonly calendar: CalendarSource
  readonly clock: Clock
  readonly logger: BurstLogger
  readonly forward: Forward<Subject>
}

interface WaitingVisit<Subject> {
  readonly subject: Subject
  readonly identity: string
  readonly userAgent: string
  readonly time: number
  readonly recordedAt: number
}

/**
 * Replaces identities by hashes under the day's salt, and forwards the visits. While the salt is
 * being asked for, visits wait, five seconds at most; while the cache does not give it they go on
 * without a visitor at once. Identities stay in here: what is forwarded has hashes only.
 */
export class Pseudonymizer<Subject> {
  readonly #clock: Clock
  readonly #forward: Forward<Subject>
  readonly #salt: DailySalt
  #hashes: VisitorHashes | undefined
  #waiting: WaitingVisit<Subject>[] = []
  #patienceMs = FIRST_PATIENCE_MS
  #deadline: Timer | undefined
  /** The last try gave no salt. */
  #gaveUp = false
  #whenForwarded: (() => void)[] = []

  constructor(parts: PseudonymizerParts<Subject>) {
    this.#clock = parts.clock
    this.#forward = parts.forward
    this.#salt = new DailySalt({ ...parts, answered: (salt, end) => this.#release(salt, end) })
  }

  /**
   * Forwards a visit to `subject`, now or within five seconds. Without identity: without a visitor.
   * `userAgent` distinguishes visitors of one identity (an address). `at`: the time of the visit;
   * by default, now.
   */
  pseudonymize(subject: Subject, identity: string | undefined, userAgent = '', at?: number): void {
    const recordedAt = this.#clock.now()
    const time = at ?? recordedAt
    if (identity === undefined) return this.#forward(time, null, subject, recordedAt)
    const salt = this.#salt.current(recordedAt)
    if (salt) {
      const visitor = this.#under(salt).of(bounded(identity), bounded(userAgent))
      return this.#forward(time, visitor, subject, recordedAt)
    }
    if (this.#gaveUp || this.#waiting.length >= MAX_WAITING) {
      return this.#forward(time, null, subject, recordedAt)
    }
    this.#waiting.push({
      subject,
      identity: bounded(identity),
      userAgent: bounded(userAgent),
      time,
      recordedAt,
    })
    this.#deadline ??= this.#clock.after(this.#patienceMs, () => this.#release(undefined))
  }

  /** Whether visits wait. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** Resolves when all visits so far have been forwarded: within five seconds. */
  forwarded(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenForwarded.push(resolve))
  }

  /** Lets go of the salt; visits that come later have no visitor. */
  close(): void {
    this.#salt.close()
    this.#release(undefined)
  }

  #under(salt: Buffer): VisitorHashes {
    if (this.#hashes?.salt !== salt) this.#hashes = new VisitorHashes(salt)
    return this.#hashes
  }

  /** Forwards the visits that wait, but those recorded from `end` on: they need another salt. */
  #release(salt: Buffer | undefined, end = Infinity): void {
    this.#gaveUp = salt === undefined
    this.#patienceMs = PATIENCE_MS
    const hashes = salt && this.#under(salt)
    // Yesterday's hashes are dropped at once, because they show who was here.
    if (!hashes) this.#hashes = undefined
    const waiting = this.#waiting
    this.#waiting = waiting.filter(({ recordedAt }) => recordedAt >= end)
    for (const { subject, identity, userAgent, time, recordedAt } of waiting) {
      if (recordedAt >= end) continue
      this.#forward(time, hashes?.of(identity, userAgent) ?? null, subject, recordedAt)
    }
    if (end <= this.#clock.now()) this.#hashes = undefined
    if (this.#waiting.length > 0) return
    this.#deadline?.cancel()
    this.#deadline = undefined
    const whenForwarded = this.#whenForwarded
    this.#whenForwarded = []
    for (const resolve of whenForwarded) resolve()
  }
}
