import { createHmac, randomBytes } from 'node:crypto'
import type { Cache } from '../cache/cache.js'
import type { CalendarSource } from '../support/calendar.js'
import { dayText } from '../support/calendar-days.js'
import type { Clock, Timer } from '../support/clock.js'
import type { BurstLogger } from '../support/logger.js'

const PART_BYTES = 32

/**
 * Clocks of two processes differ a little, so a day's salt outlives its day; then nobody can hash
 * again.
 */
const TTL_SECONDS = 2 * 24 * 3600

/**
 * Interval of checking that the cache still has the salt, and of asking again while this process
 * does not know it.
 */
const CHECK_MS = 120_000
const RETRY_MS = 1_000

/**
 * Takes the salt of the day that ends at `end`, in milliseconds since the Unix epoch; `undefined`:
 * it is still not known.
 */
type Answered = (salt: Buffer | undefined, end: number) => void

/** Returns the salt that a secret and a random part make. */
export function saltOf(secret: Buffer, part: Buffer): Buffer {
  return createHmac('sha256', secret).update(part).digest()
}

/**
 * The salt of the day. It is made of the database's secret and of a random part that all
 * processes share through the cache, and is kept nowhere. So neither the cache alone, nor the
 * database alone, tells who a visitor was. The first process draws the random part. When the cache
 * has lost it, the first process that notices puts it back; when it has another one, the cache's is
 * taken. At the end of the day the process forgets the salt and the random part. The cache forgets
 * the part at most two days later.
 *
 * Asks the database at creation. Asks the cache then, and every two minutes: of many processes one
 * soon notices that it is gone. Without a salt it asks every second.
 */
export class DailySalt {
  readonly #cache: Cache
  readonly #askSecret: () => Promise<Buffer>
  readonly #keyStart: string
  /** Of the days that have a salt each. */
  readonly #calendar: CalendarSource
  readonly #clock: Clock
  readonly #logger: BurstLogger
  readonly #answered: Answered
  #day: number
  /** The random part, as this process knows it, and the salt made of it. */
  #part: Buffer | undefined
  #salt: Buffer | undefined
  /** Asked for once: it serves while the database is away, over midnight too. */
  #secret: Buffer | undefined
  #asking = false
  #timer: Timer | undefined
  #closed = false

  /**
   * `answered` is called after each try.
   */
  constructor(parts: {
    cache: Cache
    /** Returns the database's secret. */
    secret: () => Promise<Buffer>
    name: string
    calendar: CalendarSource
    clock: Clock
    logger: BurstLogger
    answered: Answered
  }) {
    this.#cache = parts.cache
    this.#askSecret = parts.secret
    this.#keyStart = `salt:${parts.name}:`
    this.#calendar = parts.calendar
    this.#clock = parts.clock
    this.#logger = parts.logger
    this.#answered = parts.answered
    this.#day = this.#dayOf(this.#clock.now())
    void this.#ask()
  }

  /** The salt of today, if it is known here. `now`: by the clock. */
  current(now: number): Buffer | undefined {
    if (this.#turns(now)) void this.#ask()
    return this.#salt
  }

  /** Stops asking. What is known is forgotten. */
  close(): void {
    this.#closed = true
    this.#timer?.cancel()
    this.#forget()
  }

  /** Forgets the salt at the end of its day. Returns whether another day has begun. */
  #turns(now: number): boolean {
    const today = this.#dayOf(now)
    if (today === this.#day) return false
    this.#day = today
    this.#forget()
    return true
  }

  #endOf(day: number): number {
    return this.#calendar.current.startOfDay(day + 1)
  }

  #dayOf(now: number): number {
    return this.#calendar.current.dayOf(now)
  }

  #forget(): void {
    this.#part = this.#salt = undefined
  }

  /** One try; plans the next. Never rejects. */
  async #ask(): Promise<void> {
    if (this.#asking || this.#closed) return
    this.#asking = true
    this.#timer?.cancel()
    const began = this.#clock.now()
    let day = this.#day
    let found: { readonly part: Buffer; readonly secret: Buffer } | undefined
    try {
      const secret = (this.#secret ??= await this.#askSecret())
      await this.#calendar.read()
      // The database may have another zone than this process.
      this.#turns(this.#clock.now())
      // Visits of that day wait for it, though it may have ended.
      day = this.#dayOf(began)
      found = { part: await this.#exchange(`${this.#keyStart}${dayText(day)}`), secret }
      this.#logger.recovered('salt', 'wide-cache: visits count with their visitors again')
    } catch (error) {
      // close() is followed by that of the cache, which ends a try under way.
      if (!this.#salt && !this.#closed) {
        const why = error instanceof Error ? error.message : 'unknown'
        this.#logger.warn(
          'salt',
          `wide-cache: visits count without a visitor until the day's salt is known (${why})`,
        )
      }
    }
    this.#asking = false
    if (this.#closed) return
    if (day !== this.#day) {
      if (found) this.#answered(saltOf(found.secret, found.part), this.#endOf(day))
      return this.#ask()
    }
    if (found && !this.#part?.equals(found.part)) {
      this.#part = found.part
      this.#salt = saltOf(found.secret, found.part)
    }
    const leftOfDay = this.#endOf(day) - this.#clock.now()
    this.#timer = this.#clock.after(this.#salt ? Math.min(CHECK_MS, leftOfDay) : RETRY_MS, () => {
      this.current(this.#clock.now())
      void this.#ask()
    })
    this.#answered(this.#salt, this.#endOf(day))
  }

  /**
   * The random part that the cache has under `key`, or ours if it has none. At most four
   * operations.
   */
  async #exchange(key: string): Promise<Buffer> {
    const stored = await this.#cache.get(key)
    if (stored?.length === PART_BYTES) return stored
    const ours = this.#part ?? randomBytes(PART_BYTES)
    if (stored) {
      // Something else has written here.
      if (await this.#cache.set(key, ours, TTL_SECONDS)) return ours
    } else if (await this.#cache.add(key, ours, TTL_SECONDS)) return ours
    const other = await this.#cache.get(key)
    if (other?.length === PART_BYTES) return other
    throw new Error('the cache does not store it')
  }
}
