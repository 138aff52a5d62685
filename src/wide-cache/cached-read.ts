import type { Cache } from '../cache/cache.js'
import { sleep } from '../support/clock.js'
import { type Environment, keptAlive } from '../support/environment.js'

/** How long a process uses what it has read before it asks the cache again. */
export const MEMO_MS = 1_000

/** How long the last good figures are kept for when SQL is away. */
const LAST_GOOD_SECONDS = 24 * 3600

/** Waits of a caller on a cold cache for the figures that another process is reading. */
const COLD_WAIT_MS = 50
const COLD_WAITS = 40

/** How long callers wait for a database that does not answer while there are older figures. */
const PATIENCE_MS = 1_000

/** Figures, which may themselves be `null`. */
interface Known<Figures> {
  readonly figures: Figures
}

/** What reading takes, whichever figures they are. */
export interface CachedReadParts {
  readonly cache: Cache
  readonly environment: Environment
  /** What all keys of the name begin with. */
  readonly keyStart: () => Promise<string>
  readonly ttlSeconds: number
}

/**
 * Figures that are read from SQL at most once in `ttlSeconds` over all processes, however many
 * callers ask: the one that takes the lease reads; all others take what the cache
 * holds, and the last good figures while SQL is away. Without a cache each process reads once a
 * period for itself. Where there never were any figures, a process asks once a second at most.
 */
export class CachedRead<Figures> {
  readonly #cache: Cache
  readonly #environment: Environment
  readonly #keyStart: () => Promise<string>
  /** Tells the figures from others of the name. */
  readonly #key: string
  /** As last known: what all keys of the figures begin with. */
  #knownKeyStart: string | undefined
  readonly #ttlSeconds: number
  readonly #query: () => Promise<Figures>
  #memo: (Known<Figures> & { readonly until: number }) | undefined
  #answer: Promise<Figures> | undefined
  /** Why there are no figures at all, and until when that is the answer. */
  #failure: { readonly error: unknown; readonly until: number } | undefined

  constructor(parts: CachedReadParts & { key: string; query: () => Promise<Figures> }) {
    this.#cache = parts.cache
    this.#environment = parts.environment
    this.#keyStart = parts.keyStart
    this.#key = parts.key
    this.#ttlSeconds = parts.ttlSeconds
    this.#query = parts.query
  }

  /** The figures. @throws what the query, or `keyStart`, throws, if there never were any. */
  read(): Promise<Figures> {
    const now = this.#environment.clock.elapsed()
    if (this.#memo && now < this.#memo.until) return Promise.resolve(this.#memo.figures)
    if (this.#failure && now < this.#failure.until) return Promise.reject(this.#failure.error)
    this.#answer ??= this.#ask()
    return this.#answer
  }

  /** New figures; or, once they are late, the last good ones until the new ones are there. */
  #ask(): Promise<Figures> {
    const refreshed = keptAlive(this.#environment, () => this.#refresh()).finally(() => {
      this.#answer = undefined
    })
    const late = sleep(this.#environment.clock, PATIENCE_MS).then(
      () => this.#memo?.figures ?? refreshed,
    )
    return Promise.race([refreshed, late])
  }

  async #refresh(): Promise<Figures> {
    try {
      this.#knownKeyStart = await this.#keyStart()
    } catch (error) {
      return this.#lastGood(error)
    }
    const lease = await this.#takeLease()
    if (lease === 'of another') {
      const found = await this.#waitForOther()
      if (found) return found.figures
    } else if (lease === 'ours' && !this.#memo) {
      // Callers who lose patience while the query is under way get these.
      await this.#recall(0)
    }
    let figures: Figures
    try {
      figures = await this.#query()
    } catch (error) {
      return this.#lastGood(error)
    }
    const isShared = lease === 'ours' && (await this.#share(figures))
    return this.#remember(figures, isShared ? this.#memoMs : this.#ttlSeconds * 1000)
  }

  /** Who has the lease, and reads; `undefined` if the cache does not answer. */
  async #takeLease(): Promise<'ours' | 'of another' | undefined> {
    try {
      const isOurs = await this.#cache.add(
        `${this.#knownKeyStart}read:${this.#key}:lease`,
        Buffer.from('1'),
        this.#ttlSeconds,
      )
      return isOurs ? 'ours' : 'of another'
    } catch {
      return undefined
    }
  }

  /**
   * The figures that another process has put into the cache, or is about to; `undefined` if the
   * cache does not answer, or the figures were lost from it.
   */
  async #waitForOther(): Promise<Known<Figures> | undefined> {
    for (let waits = 0; waits < COLD_WAITS; waits++) {
      const value = await this.#recall(this.#memoMs)
      if (value !== 'none') return value
      if (this.#memo) return this.#memo
      await sleep(this.#environment.clock, COLD_WAIT_MS)
    }
    return undefined
  }

  /** Puts the figures into the cache. `false`: it does not answer. */
  async #share(figures: Figures): Promise<boolean> {
    try {
      const value = Buffer.from(JSON.stringify(figures))
      await this.#cache.set(
        `${this.#knownKeyStart}read:${this.#key}:figures`,
        value,
        LAST_GOOD_SECONDS,
      )
      return true
    } catch {
      return false
    }
  }

  /**
   * Remembers what the cache has, for `ms`. `none`: it has nothing; `undefined`: it does not
   * answer.
   */
  async #recall(ms: number): Promise<Known<Figures> | 'none' | undefined> {
    try {
      const value = await this.#cache.get(`${this.#knownKeyStart}read:${this.#key}:figures`)
      if (!value) return 'none'
      return { figures: this.#remember(JSON.parse(value.toString()) as Figures, ms) }
    } catch {
      return undefined
    }
  }

  /** The newest figures there are. @throws `error` if there are none */
  async #lastGood(error: unknown): Promise<Figures> {
    const found = this.#knownKeyStart === undefined ? undefined : await this.#recall(MEMO_MS)
    if (found && found !== 'none') return found.figures
    if (this.#memo) return this.#remember(this.#memo.figures, MEMO_MS)
    // Or each request would ask a database that is in trouble.
    this.#failure = { error, until: this.#environment.clock.elapsed() + MEMO_MS }
    throw error
  }

  /** How long shared figures are used before the cache is asked again. */
  get #memoMs(): number {
    return Math.min(MEMO_MS, this.#ttlSeconds * 1000)
  }

  #remember(figures: Figures, ms: number): Figures {
    this.#memo = { figures, until: this.#environment.clock.elapsed() + ms }
    return figures
  }
}
