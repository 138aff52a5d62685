import type { Cache } from '../cache/cache.js'
import { sleep } from '../support/clock.js'
import { type Environment, keptAlive } from '../support/environment.js'

/** Time for which a process uses the figures that it has read before it asks the cache again. */
export const MEMO_MS = 500

/** Time for which a process asks neither SQL nor the cache again after SQL has failed. */
const AFTER_FAILURE_MS = 1_000

/** Lifetime in the cache of the last good figures, which are used while SQL is away. */
const LAST_GOOD_SECONDS = 24 * 3600

/** Length and number of waits on a cold cache for the figures that another process is reading. */
const COLD_WAIT_MS = 50
const COLD_WAITS = 40

/** Longest wait of callers for a database that does not answer, if there are older figures. */
const PATIENCE_MS = 1_000

/** Figures, which may themselves be `null`. */
interface Known<Figures> {
  readonly figures: Figures
}

/** Parts of a {@link CachedRead} that are the same for all figures. */
export interface CachedReadParts {
  readonly cache: Cache
  readonly environment: Environment
  /** Returns the start of all cache keys of the name. */
  readonly keyStart: () => Promise<string>
  readonly ttlSeconds: number
}

/**
 * Reads figures from SQL at most once in `ttlSeconds` over all processes, however many callers ask.
 * The process that takes the lease reads. All others use the figures in the cache, and the last
 * good ones while SQL is away. Without a cache each process reads for itself, once in `ttlSeconds`.
 * Where there never were any figures, a process asks once a second at most.
 */
export class CachedRead<Figures> {
  readonly #cache: Cache
  readonly #environment: Environment
  readonly #keyStart: () => Promise<string>
  /** Tells the figures from others of the name. */
  readonly #key: string
  /** Start of all cache keys of the name, as last known. */
  #knownKeyStart: string | undefined
  readonly #ttlSeconds: number
  readonly #query: () => Promise<Figures>
  #memo: (Known<Figures> & { readonly until: number }) | undefined
  #answer: Promise<Figures> | undefined
  /** Reason why there are no figures at all, and the moment until which callers get it. */
  #failure: { readonly error: unknown; readonly until: number } | undefined

  constructor(parts: CachedReadParts & { key: string; query: () => Promise<Figures> }) {
    this.#cache = parts.cache
    this.#environment = parts.environment
    this.#keyStart = parts.keyStart
    this.#key = parts.key
    this.#ttlSeconds = parts.ttlSeconds
    this.#query = parts.query
  }

  /**
   * Returns the figures. @throws the error of the query, or of `keyStart`, if there never were any.
   */
  read(): Promise<Figures> {
    const now = this.#environment.clock.elapsed()
    if (this.#memo && now < this.#memo.until) return Promise.resolve(this.#memo.figures)
    if (this.#failure && now < this.#failure.until) return Promise.reject(this.#failure.error)
    this.#answer ??= this.#ask()
    return this.#answer
  }

  /**
   * Returns new figures. Once they are late, returns the last good ones until the new ones arrive.
   */
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

  /** Tries to take the lease, whose holder reads. `undefined`: the cache does not answer. */
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
   * Returns the figures that another process has put into the cache, or older ones of this process.
   * Waits for the other process if there are neither. `undefined`: the cache does not answer, or no
   * figures came in time.
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
   * Reads the figures from the cache, and remembers them for `ms`. `none`: it has none.
   * `undefined`: it does not answer.
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

  /** Returns the newest figures there are. @throws `error` if there are none */
  async #lastGood(error: unknown): Promise<Figures> {
    const found =
      this.#knownKeyStart === undefined ? undefined : await this.#recall(AFTER_FAILURE_MS)
    if (found && found !== 'none') return found.figures
    if (this.#memo) return this.#remember(this.#memo.figures, AFTER_FAILURE_MS)
    // Or each request would ask a database that is in trouble.
    this.#failure = { error, until: this.#environment.clock.elapsed() + AFTER_FAILURE_MS }
    throw error
  }

  /** Time for which shared figures are used before the cache is asked again, in milliseconds. */
  get #memoMs(): number {
    return Math.min(MEMO_MS, this.#ttlSeconds * 1000)
  }

  #remember(figures: Figures, ms: number): Figures {
    this.#memo = { figures, until: this.#environment.clock.elapsed() + ms }
    return figures
  }
}
