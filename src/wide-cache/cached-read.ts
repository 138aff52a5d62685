import type { Cache } from '../cache/cache.js'
import { sleep } from '../support/clock.js'
import { type Environment, keptAlive } from '../support/environment.js'

/** How long a process uses what it has read before it asks the cache again. */
const MEMO_MS = 1_000

/** How long the last good figures are kept for when SQL is away. */
const LAST_GOOD_SECONDS = 24 * 3600

/** Waits of a caller on a cold cache for the figures that another process is reading. */
const COLD_WAIT_MS = 50
const COLD_WAITS = 40

/** How long callers wait for a database that does not answer while there are older figures. */
const PATIENCE_MS = 1_000

/**
 * Figures that are read from SQL at most once in `ttlSeconds` over all processes, however many
 * callers ask: the one that finds the turn free takes it and reads; all others take what the cache
 * holds, and the last good figures while SQL is away. Without a cache each process reads once a
 * period for itself.
 */
export class CachedRead<Figures> {
  readonly #cache: Cache
  readonly #environment: Environment
  readonly #keyPrefix: () => Promise<string>
  /** As last known: what all keys of the figures begin with. */
  #prefix: string | undefined
  readonly #ttlSeconds: number
  readonly #query: () => Promise<Figures>
  #memo: { figures: Figures; until: number } | undefined
  #answer: Promise<Figures> | undefined

  constructor(parts: {
    cache: Cache
    environment: Environment
    keyPrefix: () => Promise<string>
    ttlSeconds: number
    query: () => Promise<Figures>
  }) {
    this.#cache = parts.cache
    this.#environment = parts.environment
    this.#keyPrefix = parts.keyPrefix
    this.#ttlSeconds = parts.ttlSeconds
    this.#query = parts.query
  }

  /** The figures. @throws what the query, or `keyPrefix`, throws, if there never were any. */
  read(): Promise<Figures> {
    if (this.#memo && this.#environment.clock.elapsed() < this.#memo.until) {
      return Promise.resolve(this.#memo.figures)
    }
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
      this.#prefix = await this.#keyPrefix()
    } catch (error) {
      return this.#lastGood(error)
    }
    try {
      if (await this.#cache.add(`${this.#prefix}read:turn`, Buffer.from('1'), this.#ttlSeconds)) {
        return await this.#takeTurn()
      }
      for (let waits = 0; waits < COLD_WAITS; waits++) {
        const value = await this.#cache.get(this.#figuresKey)
        if (value) {
          return this.#remember(
            JSON.parse(value.toString()) as Figures,
            Math.min(MEMO_MS, this.#ttlSeconds * 1000),
          )
        }
        if (this.#memo) return this.#memo.figures
        await sleep(this.#environment.clock, COLD_WAIT_MS)
      }
    } catch (error) {
      if (error instanceof QueryFailed) return this.#lastGood(error.cause)
    }
    // The cache does not answer, or the figures were lost from it: read for this process alone.
    try {
      return this.#remember(await this.#query(), this.#ttlSeconds * 1000)
    } catch (error) {
      return this.#lastGood(error)
    }
  }

  async #takeTurn(): Promise<Figures> {
    if (!this.#memo) {
      const value = await this.#cache.get(this.#figuresKey)
      if (value) this.#remember(JSON.parse(value.toString()) as Figures, 0)
    }
    const figures = await this.#query().catch((error: unknown) => {
      throw new QueryFailed('', { cause: error })
    })
    await this.#cache.set(this.#figuresKey, Buffer.from(JSON.stringify(figures)), LAST_GOOD_SECONDS)
    return this.#remember(figures, Math.min(MEMO_MS, this.#ttlSeconds * 1000))
  }

  async #lastGood(error: unknown): Promise<Figures> {
    const value =
      this.#prefix === undefined
        ? undefined
        : await this.#cache.get(this.#figuresKey).catch(() => undefined)
    if (value) return this.#remember(JSON.parse(value.toString()) as Figures, MEMO_MS)
    if (this.#memo) return this.#remember(this.#memo.figures, MEMO_MS)
    throw error
  }

  get #figuresKey(): string {
    return `${this.#prefix}read:figures`
  }

  #remember(figures: Figures, ms: number): Figures {
    this.#memo = { figures, until: this.#environment.clock.elapsed() + ms }
    return figures
  }
}

/** Tells a failed query from a failed cache. */
class QueryFailed extends Error {}
