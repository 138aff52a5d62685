/**
 * The protocol of a sequence: numbers from a counter in the cache, made safe by one row in SQL.
 *
 * Why no number is handed out twice. A generation's counter lives under a key with a unique token.
 * One process adds it once, before any other knows it, in a cache that may forget it and never goes
 * back. So within a generation `increment` gives each number once. Nothing above `reserved` is
 * handed out before SQL has raised it, which it refuses for any generation but the newest. The next
 * generation begins at what was reserved. So generations share no number, even if a process still
 * acts on an old one, or a server comes back with its counter. No clock takes part in this. A
 * cache that may go back does not count at all.
 *
 * Why numbers grow, on all processes: a call after an answer gets a greater number. Within a
 * generation `increment` ensures it. Between two generations the times of CURRENT_MS do. An
 * operation is sent for those who wait at that moment, and only while this process knows the
 * generation to be the newest: within CURRENT_MS of having asked SQL. Numbers of a new generation
 * are handed out only once its row says `established`. A process writes that when it has known of
 * it for ESTABLISH_MS. By then no process acts on an earlier generation that it asked for before
 * it was committed. So an operation in an old generation was sent, and its callers had called,
 * before any number of a new one was answered. Clocks are compared with themselves only. One thing
 * would break this part, and never the first: a machine whose monotonic clock stands still for
 * long while it runs, and then goes on.
 *
 * A miss opens a generation with a new counter; silence does not. When the cache has been silent
 * for SILENCE_MS, or has lost MAX_LOSSES counters within LOSSES_MS, a generation without a token
 * is opened. Its numbers are taken from the row itself. The return is a counter that has stayed in
 * the cache for PROBE_MS.
 */
import { type Cache, CacheError } from '../cache/cache.js'
import { DatabaseError } from '../database/database.js'
import { sleep } from '../support/clock.js'
import type { Environment } from '../support/environment.js'
import type { BurstLogger } from '../support/logger.js'
import { type CurrentGeneration, CURRENT_MS, ESTABLISH_MS } from './current-generation.js'
import { CacheCounters } from './cache-counters.js'
import { type Caller, Callers } from './callers.js'
import type { GenerationRecord } from './generation-record.js'
import { LAST, LOSSES_MS, MAX_LOSSES, NewestGeneration } from './newest-generation.js'
import { CacheReturn } from './cache-return.js'

/** Time for which the cache may be silent before numbers come from SQL alone, in ms. */
export const SILENCE_MS = 5_000
/** Between two tries of what has failed. */
const RETRY_MS = 100

/** Parts that a sequence is made of. */
export interface Parts {
  readonly name: string
  readonly block: number
  /** Never goes back. `undefined`: SQL alone. */
  readonly cache: Cache | undefined
  readonly record: GenerationRecord
  readonly environment: Environment
  readonly logger: BurstLogger
}

/** Numbers that the cache has given, until they may be handed out. */
interface Held {
  readonly current: CurrentGeneration
  readonly batch: readonly Caller[]
  /** The counter before and after. */
  readonly from: number
  readonly to: number
}

/** The cache of a sequence, and how to come back to it. */
interface CacheSide {
  readonly counters: CacheCounters
  readonly cacheReturn: CacheReturn
}

export class Numbers {
  readonly #parts: Parts
  readonly #callers: Callers
  readonly #newest: NewestGeneration
  /** `undefined`: SQL alone. */
  readonly #cache: CacheSide | undefined
  #held: Held | undefined
  #running = false
  #closed = false
  /** Request to SQL that is under way in the background, one at a time. Never rejects. */
  #tending: Promise<void> | undefined
  /** Time since which the cache has given no numbers. */
  #silentSince: number | undefined
  /** Whether the last request to the cache has failed. */
  #unanswered = false

  constructor(parts: Parts) {
    const { name, block, cache, record, environment } = parts
    this.#parts = parts
    this.#callers = new Callers(name, block, environment.clock)
    this.#newest = new NewestGeneration(record, environment.clock)
    if (cache) {
      const counters = new CacheCounters(cache, name, environment.newId)
      const cacheReturn = new CacheReturn(this.#newest, counters, () => this.#elapsed())
      this.#cache = { counters, cacheReturn }
    }
  }

  next(): Promise<number> {
    const answer = this.#callers.join()
    if (this.#closed) this.#callers.close()
    else if (!this.#running) void this.#run()
    return answer
  }

  close(): void {
    this.#closed = true
    this.#callers.close()
  }

  /**
   * One step after the other while anybody waits; a failure is tried again until the last caller
   * has lost patience.
   */
  async #run(): Promise<void> {
    this.#running = true
    this.#silentSince = undefined
    this.#unanswered = false
    // All who call in this turn share the first operation.
    await Promise.resolve()
    while (!this.#closed && (this.#held || this.#callers.waiting())) {
      try {
        await this.#step()
      } catch (error) {
        this.#callers.failure = error
        if (passing(error)) await this.#pause(RETRY_MS * (0.5 + this.#parts.environment.random()))
        else this.#giveUp(error)
      }
    }
    this.#running = false
  }

  async #step(): Promise<void> {
    if (this.#held) return this.#handOut(this.#held)
    const cache = this.#cache
    const { current } = this.#newest
    if (!current) return this.#ask()
    if (current.token !== null && !cache) return this.#newest.open(current, null)
    if (!current.established) return this.#establish(current)
    if (current.token === null || !cache) return this.#takeFromRow(current)
    if (this.#elapsed() >= current.until) return this.#ask()
    return this.#takeFromCache(cache.counters, current.token, current)
  }

  /** Asks SQL for the newest generation. */
  async #ask(): Promise<void> {
    const current = await this.#newest.read()
    if (this.#elapsed() < current.until) return
    this.#callers.failure = new Error(
      `the database takes more than ${CURRENT_MS} ms to answer, or answers what is older than ` +
        'what it said before',
    )
    await this.#pause(RETRY_MS)
  }

  async #establish(current: CurrentGeneration): Promise<void> {
    const early = current.since + ESTABLISH_MS - this.#elapsed()
    if (early > 0) return this.#pause(early)
    if (!(await this.#newest.establish(current))) return this.#ask()
  }

  async #takeFromCache(
    counters: CacheCounters,
    token: Buffer,
    current: CurrentGeneration,
  ): Promise<void> {
    try {
      // What was lost on the way may have been carried out: before more is sent, the cache must
      // answer.
      if (this.#unanswered) {
        if (!(await counters.has(token))) await this.#lost(current, counters)
        this.#unanswered = false
        return
      }
      const batch = this.#callers.batch()
      const to = await counters.raise(token, batch.length)
      if (to === undefined) return await this.#lost(current, counters)
      this.#silentSince = undefined
      this.#held = { current, batch, from: to - batch.length, to }
    } catch (error) {
      if (error instanceof CacheError && passing(error)) return this.#silent(current, error)
      throw error
    }
    await this.#handOut(this.#held)
  }

  /** The cache has no counter any more. */
  async #lost(current: CurrentGeneration, counters: CacheCounters): Promise<void> {
    const { logger, name } = this.#parts
    const recent = this.#newest.recentLosses() + 1
    const losses = `the cache has lost the counter ${recent} times within ${LOSSES_MS / 1000} s`
    if (recent > 1) this.#callers.failure = new Error(losses)
    if (recent < MAX_LOSSES) return this.#newest.open(current, await counters.create())
    await this.#newest.open(current, null)
    logger.warn(
      'cache',
      `wide-cache: numbers of sequence "${name}" come from SQL alone until the cache keeps a ` +
        `counter: ${losses}. ` +
        'Look for evictions (give memcached more memory), flushes, and servers that restart',
    )
  }

  /** The cache has not answered. */
  async #silent(current: CurrentGeneration, error: CacheError): Promise<void> {
    const now = this.#elapsed()
    this.#silentSince ??= now
    this.#unanswered = true
    if (now - this.#silentSince < SILENCE_MS) throw error
    await this.#newest.open(current, null)
    this.#silentSince = undefined
    this.#unanswered = false
    const { logger, name } = this.#parts
    logger.warn(
      'cache',
      `wide-cache: numbers of sequence "${name}" come from SQL alone until the cache is ` +
        `back: ${error.message}`,
    )
  }

  async #handOut(held: Held): Promise<void> {
    const { current, batch, from, to } = held
    const left = LAST - current.base
    const last = current.base + Math.min(to, left)
    if (last > current.reserved) await this.#tending
    if (
      last > current.reserved &&
      !batch.every(({ rejected }) => rejected) &&
      !(await this.#newest.reserve(current, last + this.#parts.block))
    ) {
      // The generation is over: the next one hands these numbers out.
      this.#held = undefined
      return
    }
    this.#held = undefined
    this.#callers.answer(
      batch,
      current.base + Math.min(from, left) + 1,
      Math.min(to, left) - Math.min(from, left),
    )
    this.#lookAhead(current, last, batch.length)
  }

  /**
   * Raises the reserve by half a block, and renews the current, before anybody has to wait for it.
   * Where operations carry more than that, one write in the foreground for two of them is the
   * faster way.
   */
  #lookAhead(current: CurrentGeneration, last: number, count: number): void {
    const half = Math.ceil(this.#parts.block / 2)
    if (count <= half && current.reserved - last < half && current.reserved < LAST) {
      this.#tend(() => this.#newest.reserve(current, current.reserved + half))
    } else if (current.until - this.#elapsed() < CURRENT_MS / 2) {
      this.#tend(() => this.#newest.read())
    }
  }

  async #takeFromRow(current: CurrentGeneration): Promise<void> {
    const { record } = this.#parts
    const cacheReturn = this.#cache?.cacheReturn
    if (cacheReturn?.isDue(current)) this.#tend(() => this.#comeBack(cacheReturn, current))
    const batch = this.#callers.batch()
    const taken = await record.take(current.generation, batch.length)
    if (taken) this.#callers.answer(batch, taken.first, taken.count)
    else await this.#ask()
  }

  async #comeBack(cacheReturn: CacheReturn, current: CurrentGeneration): Promise<void> {
    if (!(await cacheReturn.step(current))) return
    this.#parts.logger.recovered(
      'cache',
      `wide-cache: numbers of sequence "${this.#parts.name}" come from the cache again`,
    )
  }

  #tend(work: () => Promise<unknown>): void {
    this.#tending ??= work()
      // What fails here is tried again, and told, when somebody waits for it.
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => {
        this.#tending = undefined
      })
  }

  #giveUp(error: unknown): void {
    this.#held = undefined
    this.#callers.rejectAll(error)
  }

  #pause(ms: number): Promise<void> {
    return sleep(this.#parts.environment.clock, ms)
  }

  #elapsed(): number {
    return this.#parts.environment.clock.elapsed()
  }
}

/** Tells whether a failure may be over soon. The others are mistakes in the set-up, or the end. */
function passing(error: unknown): boolean {
  if (error instanceof CacheError) return error.code !== 'CACHE_CLOSED'
  return error instanceof DatabaseError && error.category !== 'data' && error.category !== 'usage'
}
