import type { Cache } from '../cache/cache.js'
import type { Clock, Timer } from '../support/clock.js'
import type { BurstLogger } from '../support/logger.js'
import { DailySalt } from './salt.js'
import { VisitorHashes, bounded } from './visitor.js'

/** How long a visit waits for the day's salt. */
const PATIENCE_MS = 1_000

/** Visits that may wait; hashing so many when the salt comes takes a few milliseconds. */
const MAX_WAITING = 1_000

/** A visit at `time` to `what`; `visitor` is a hash of who came, `null` where that is unknown. */
export type HandOn<What> = (time: number, visitor: Buffer | null, what: What) => void

interface WaitingVisit<What> {
  readonly time: number
  readonly identity: string
  readonly userAgent: string
  readonly what: What
}

/**
 * Turns identities into hashes under the day's salt, and hands the visits on. While the salt is
 * being asked for, visits wait, a second at most; while the cache does not give it they go on
 * without a visitor at once. Identities stay in here: what is handed on has hashes only.
 */
export class Identifier<What> {
  readonly #clock: Clock
  readonly #handOn: HandOn<What>
  readonly #salt: DailySalt
  #hashes: VisitorHashes | undefined
  #waiting: WaitingVisit<What>[] = []
  #deadline: Timer | undefined
  /** The last try gave no salt. */
  #gaveUp = false
  #whenSettled: (() => void)[] = []

  constructor(parts: {
    cache: Cache
    name: string
    clock: Clock
    logger: BurstLogger
    handOn: HandOn<What>
  }) {
    this.#clock = parts.clock
    this.#handOn = parts.handOn
    this.#salt = new DailySalt({ ...parts, answered: (salt) => this.#release(salt) })
  }

  /**
   * Hands the visit on, now or within a second. Without identity: a visit without a visitor.
   * `userAgent`: what tells visitors of one identity (an address) from each other.
   */
  identify(time: number, identity: string | undefined, what: What, userAgent = ''): void {
    if (identity === undefined) return this.#handOn(time, null, what)
    const salt = this.#salt.current()
    if (salt) {
      return this.#handOn(time, this.#under(salt).of(bounded(identity), bounded(userAgent)), what)
    }
    if (this.#gaveUp || this.#waiting.length >= MAX_WAITING) return this.#handOn(time, null, what)
    this.#waiting.push({ time, identity: bounded(identity), userAgent: bounded(userAgent), what })
    this.#deadline ??= this.#clock.after(PATIENCE_MS, () => this.#release(undefined))
  }

  /** Resolves when all visits so far have been handed on: within a second. */
  settled(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenSettled.push(resolve))
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

  #release(salt: Buffer | undefined): void {
    this.#gaveUp = salt === undefined
    const hashes = salt && this.#under(salt)
    // Yesterday's, and with them who was here, are not kept until somebody comes.
    if (!hashes) this.#hashes = undefined
    this.#deadline?.cancel()
    this.#deadline = undefined
    const waiting = this.#waiting
    this.#waiting = []
    for (const { time, identity, userAgent, what } of waiting) {
      this.#handOn(time, hashes?.of(identity, userAgent) ?? null, what)
    }
    const whenSettled = this.#whenSettled
    this.#whenSettled = []
    for (const resolve of whenSettled) resolve()
  }
}
