import { createHash } from 'node:crypto'
import type { Cache } from '../cache/cache.js'
import { sleep, timeLimit } from '../support/clock.js'
import type { Environment } from '../support/environment.js'

/** Time for which a process uses the figures that it has read before it asks the cache again. */
export const MEMO_MS = 500

/** Time for which a process asks neither SQL nor the cache again after SQL has failed. */
const AFTER_FAILURE_MS = 1_000

/** Lifetime in the cache of the last good figures, which are used while SQL is away. */
const LAST_GOOD_SECONDS = 24 * 3600

/** Length and number of waits on a cold cache for the figures that another process is reading. */
const COLD_WAIT_MS = 50
const COLD_WAITS = 40

/**
 * Lifetimes of figures for which a process keeps its own while the cache has older ones. Then the
 * database is asked.
 */
const OLDER_FOR = 3

/**
 * Places of a name in the cache for figures, and the longest that are put there: strangers who
 * choose what a shared dashboard is asked fill 16 MiB at most.
 */
const PLACES = 1_024
const MAX_SHARED_BYTES = 16 * 1024

/** Longest wait of callers for a database that does not answer, if there are older figures. */
const PATIENCE_MS = 1_000

/** Figures, which may themselves be `null`, and when SQL was asked for them. */
export interface CachedFigures<Figures> {
  readonly figures: Figures
  /** Milliseconds since the Unix epoch, by the database's clock. */
  readonly readAt: number
}

/** What stands in the cache. Without figures: they are too long, so each process reads them. */
interface Shared<Figures> extends Partial<CachedFigures<Figures>> {
  readonly key: string
}

/** A reading that this process remembers. Times are by `clock.elapsed()`. */
interface Memo<Figures> extends CachedFigures<Figures> {
  /** Moment at which this process got it. */
  readonly since: number
  /** Moment until which neither SQL nor the cache is asked for a newer one. */
  readonly until: number
}

/** Parts of a {@link CachedRead} that are the same for all figures. */
export interface CachedReadParts {
  readonly cache: Cache
  readonly environment: Environment
  /** The name that the figures are of. */
  readonly name: string
  readonly ttlSeconds: number
}

/**
 * Reads figures from SQL at most once in `ttlSeconds` over all processes, however many callers ask.
 * The process that takes the lease reads. All others use the figures in the cache, and the last
 * good ones while SQL is away. Without a cache each process reads for itself, once in `ttlSeconds`.
 * If there have never been any figures, a process asks once a second at most.
 *
 * Older figures never replace newer ones: neither in the cache, whose lease may end before its
 * holder has read, nor in a process, which may meet a cache that was away for hours.
 */
export class CachedRead<Figures> {
  readonly #cache: Cache
  readonly #environment: Environment
  readonly #key: string
  readonly #place: string
  readonly #ttlSeconds: number
  readonly #query: () => Promise<CachedFigures<Figures>>
  #memo: Memo<Figures> | undefined
  #bytes = 0
  #answer: Promise<Figures> | undefined
  /** Reason why there are no figures at all, and the moment until which callers get it. */
  #failure: { readonly error: unknown; readonly until: number } | undefined

  /** @param parts.key tells the figures from others of the name, and says all they depend on */
  constructor(
    parts: CachedReadParts & { key: string; query: () => Promise<CachedFigures<Figures>> },
  ) {
    this.#cache = parts.cache
    this.#environment = parts.environment
    this.#key = `read:${parts.name}:${parts.key}`
    this.#place = placeOf(parts.name, parts.key)
    this.#ttlSeconds = parts.ttlSeconds
    this.#query = parts.query
  }

  /** Length of the figures that are remembered, as JSON. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Returns the figures. @throws the error of the query if there never were any.
   */
  read(): Promise<Figures> {
    const now = this.#environment.clock.elapsed()
    if (this.#memo && now < this.#memo.until) return Promise.resolve(this.#memo.figures)
    if (this.#failure && now < this.#failure.until) return Promise.reject(this.#failure.error)
    this.#answer ??= this.#ask()
    return this.#answer
  }

  /**
   * Returns new figures. Once they are overdue, returns the last good ones until the new ones
   * arrive.
   */
  #ask(): Promise<Figures> {
    const patience = timeLimit(this.#environment.clock, PATIENCE_MS)
    const refreshed = this.#refresh().finally(() => {
      this.#answer = undefined
      patience.cancel()
    })
    const lastGood = patience.over.then(() => this.#memo?.figures ?? refreshed)
    return Promise.race([refreshed, lastGood])
  }

  async #refresh(): Promise<Figures> {
    const lease = await this.#takeLease()
    if (lease === 'of another') {
      const found = await this.#waitForOther()
      if (found) return found.figures
    } else if (lease === 'ours' && !this.#memo) {
      // Callers who lose patience while the query is under way get these.
      await this.#recall(0)
    }
    const { clock } = this.#environment
    const began = clock.elapsed()
    let reading: CachedFigures<Figures>
    try {
      reading = await this.#query()
    } catch (error) {
      return this.#lastGood(error)
    }
    const isSlow = clock.elapsed() - began >= this.#ttlMs
    const text = JSON.stringify({ key: this.#key, ...reading } satisfies Shared<Figures>)
    this.#bytes = text.length
    const isShared = lease === 'ours' && (await this.#share(text, reading.readAt, isSlow))
    return this.#remember(reading, isShared ? this.#memoMs : this.#ttlMs).figures
  }

  /** Tries to take the lease, whose holder reads. `undefined`: the cache does not answer. */
  async #takeLease(): Promise<'ours' | 'of another' | undefined> {
    try {
      const lease = `${this.#key}:lease`
      const isOurs = await this.#cache.add(lease, Buffer.from('1'), this.#ttlSeconds)
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
  async #waitForOther(): Promise<CachedFigures<Figures> | undefined> {
    for (let waits = 0; waits < COLD_WAITS; waits++) {
      const value = await this.#recall(this.#memoMs)
      if (value !== 'none') return value
      if (this.#memo) return this.#memo
      await sleep(this.#environment.clock, COLD_WAIT_MS)
    }
    return undefined
  }

  /**
   * Puts a reading into the cache. `false`: the cache does not answer, or it is too long.
   *
   * @param text the reading, with its key
   * @param isSlow whether the lease may have ended, and another process have put newer figures
   * there
   */
  async #share(text: string, readAt: number, isSlow: boolean): Promise<boolean> {
    const isLong = Buffer.byteLength(text) > MAX_SHARED_BYTES
    try {
      const other = isSlow ? await this.#cache.get(this.#place) : undefined
      const newer = other && this.#readingIn(other)
      if (newer && newer.readAt > readAt) return true
      const value = isLong ? JSON.stringify({ key: this.#key }) : text
      await this.#cache.set(this.#place, Buffer.from(value), LAST_GOOD_SECONDS)
      return !isLong
    } catch {
      return false
    }
  }

  /**
   * Reads the figures from the cache, and remembers them for `ms`, unless those of this process are
   * newer. `none`: it has none. `undefined`: it does not answer, holds none for others, or has had
   * older ones for so long that the database's clock must have been put back.
   */
  async #recall(ms: number): Promise<CachedFigures<Figures> | 'none' | undefined> {
    try {
      const value = await this.#cache.get(this.#place)
      if (!value) return 'none'
      const reading = this.#readingIn(value)
      if (!reading) return undefined
      const memo = this.#memo
      if (!memo || reading.readAt >= memo.readAt) {
        this.#bytes = value.length
        return this.#remember(reading, ms)
      }
      const isLong = this.#environment.clock.elapsed() - memo.since >= OLDER_FOR * this.#ttlMs
      return isLong ? undefined : memo
    } catch {
      return undefined
    }
  }

  /** Returns the newest figures there are. @throws `error` if there are none */
  async #lastGood(error: unknown): Promise<Figures> {
    const found = await this.#recall(AFTER_FAILURE_MS)
    if (found && found !== 'none') return found.figures
    if (this.#memo) return this.#remember(this.#memo, AFTER_FAILURE_MS).figures
    // Otherwise each request would ask a database that is in trouble.
    this.#failure = { error, until: this.#environment.clock.elapsed() + AFTER_FAILURE_MS }
    throw error
  }

  get #ttlMs(): number {
    return this.#ttlSeconds * 1000
  }

  /** Time for which shared figures are used before the cache is asked again, in milliseconds. */
  get #memoMs(): number {
    return Math.min(MEMO_MS, this.#ttlMs)
  }

  #remember({ figures, readAt }: CachedFigures<Figures>, ms: number): CachedFigures<Figures> {
    const now = this.#environment.clock.elapsed()
    const since = this.#memo?.readAt === readAt ? this.#memo.since : now
    this.#memo = { figures, readAt, since, until: now + ms }
    return this.#memo
  }

  /**
   * `undefined`: figures of another question, or too long ones. @throws SyntaxError, TypeError if
   * somebody else has put something there
   */
  #readingIn(value: Buffer): CachedFigures<Figures> | undefined {
    const { key, figures, readAt } = JSON.parse(value.toString()) as Partial<Shared<Figures>>
    if (key !== this.#key || figures === undefined || !Number.isFinite(readAt)) return undefined
    return { figures, readAt: readAt! }
  }
}

/** The key of the place for the figures. Of two questions that share one, the later one has it. */
export function placeOf(name: string, key: string): string {
  const hash = createHash('sha1').update(key).digest().readUInt16BE()
  return `read:${name}:figures:${hash % PLACES}`
}
