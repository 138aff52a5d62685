/**
 * The protocol of a sequence: numbers from a counter in the cache, made safe by one row in SQL.
 *
 * Why no number is handed out twice. A generation's counter lives under a key with a random token,
 * which one process adds once, before anybody knows it; so within a generation `increment` gives
 * each number once. Nothing above `reserved` is handed out before SQL has raised it, which it
 * refuses for any generation but the newest; and the next generation begins at what was reserved.
 * So generations share no number, whoever still believes in an old one and whichever server comes
 * back with its counter. No clock takes part in this.
 *
 * Why numbers grow, on all processes: who calls after an answer gets a greater number. Within a
 * generation `increment` sees to it. Between two: an operation is sent for those who wait at that
 * moment, and only while this process believes the generation to be the newest, that is, within
 * BELIEF_MS of having asked SQL. Numbers of a new generation are handed out only once its row says
 * `settled`, which a process writes that has known of it for SETTLE_MS: by then all beliefs in
 * earlier generations, asked for before it was committed, are over. So an operation in an old
 * generation was sent, and its callers had called, before any number of a new one was answered.
 * Clocks are compared with themselves only; what would break this part (and never the first) is a
 * machine whose monotonic clock stands still for long while it runs, and then goes on.
 *
 * A miss opens a generation with a new counter; silence does not. When the cache has been silent
 * for SILENCE_MS, or has lost MAX_LOSSES counters within LOSSES_MS, a generation without a token is
 * opened, whose numbers are taken from the row itself. The way back is a counter that has stayed in
 * the cache for PROBE_MS.
 */
import { type Cache, CacheError, MAX_TTL_SECONDS } from '../cache/cache.js'
import { DatabaseError } from '../database/database.js'
import { sleep } from '../support/clock.js'
import type { Environment } from '../support/environment.js'
import type { BurstLogger } from '../support/logger.js'
import { Belief, BELIEF_MS, SETTLE_MS } from './belief.js'
import { type Caller, Callers } from './callers.js'
import type { Generation, GenerationRecord } from './generation-record.js'

/** How long the cache may be silent before numbers come from SQL alone. */
export const SILENCE_MS = 5_000
/** How long SQL alone serves before the cache is tried again. */
export const RETURN_MS = 10_000
/** A counter that the cache has kept for so long is used: an eviction storm takes it before. */
export const PROBE_MS = 3_000
/** As many lost counters within this time, and SQL alone serves: each loss is a pause of 0.7 s. */
export const MAX_LOSSES = 3
export const LOSSES_MS = 10_000
/** Between two tries of what has failed. */
const RETRY_MS = 100
const LAST = Number.MAX_SAFE_INTEGER

/** What a sequence is made of. */
export interface Parts {
  readonly name: string
  readonly block: number
  /** `undefined`: SQL alone. */
  readonly cache: Cache | undefined
  readonly record: GenerationRecord
  readonly environment: Environment
  readonly logger: BurstLogger
}

/** Numbers that the cache has given, until they may be handed out. */
interface Held {
  readonly belief: Belief
  readonly batch: readonly Caller[]
  /** The counter before and after. */
  readonly from: number
  readonly to: number
}

export class Numbers {
  readonly #parts: Parts
  readonly #callers: Callers
  #belief: Belief | undefined
  #held: Held | undefined
  #running = false
  #closed = false
  /** What SQL is asked in the background; one thing at a time. Never rejects. */
  #tending: Promise<void> | undefined
  /** Since when the cache has not answered. */
  #silentSince: number | undefined
  /** When the cache has lost a counter, by this process's clock. */
  #losses: number[] = []
  #returnAt = 0
  /** A counter in the cache that nobody knows yet: if it stays there, it is used. */
  #probe: Buffer | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#callers = new Callers(parts.name, parts.block, parts.environment.clock)
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
    const { cache } = this.#parts
    const belief = this.#belief
    if (!belief) return this.#ask()
    if (belief.token !== null && !cache) return this.#open(belief, null)
    if (!belief.settled) return this.#settle(belief)
    if (belief.token === null || !cache) return this.#takeFromRow(belief)
    if (this.#elapsed() >= belief.until) return this.#ask()
    return this.#takeFromCache(cache, belief.token, belief)
  }

  /** Asks SQL for the newest generation. */
  async #ask(): Promise<void> {
    await this.#read()
    if (this.#elapsed() < this.#belief!.until) return
    this.#callers.failure = new Error(
      `the database takes more than ${BELIEF_MS} ms to answer, or answers what is older than ` +
        'what it said before',
    )
    await this.#pause(RETRY_MS)
  }

  async #read(): Promise<void> {
    const askedAt = this.#elapsed()
    this.#learn(await this.#parts.record.read(), askedAt)
  }

  #learn(newest: Generation, askedAt: number): void {
    const known = this.#belief
    // Answers may overtake each other.
    if (known && newest.generation < known.generation) return
    if (!known || newest.generation > known.generation) {
      const now = this.#elapsed()
      // From counter to counter leads only a loss, this process's or another's.
      if (known?.token && newest.token) {
        this.#losses.push(
          ...Array<number>(newest.generation - known.generation)
            .fill(now)
            .slice(-MAX_LOSSES),
        )
      }
      this.#losses = this.#losses.filter((at) => at > now - LOSSES_MS).slice(-MAX_LOSSES)
      this.#belief = new Belief(newest, now)
      this.#probe = undefined
      this.#returnAt = now + RETURN_MS - PROBE_MS
    }
    const belief = this.#belief!
    belief.settled ||= newest.settled
    belief.renew(askedAt, newest.reserved)
  }

  async #settle(belief: Belief): Promise<void> {
    const early = belief.since + SETTLE_MS - this.#elapsed()
    if (early > 0) return this.#pause(early)
    const askedAt = this.#elapsed()
    if (!(await this.#parts.record.settle(belief.generation))) return this.#ask()
    belief.settled = true
    belief.renew(askedAt)
  }

  /**
   * Opens the generation after `old`, with a new counter in the cache or, `cache` being `null`,
   * without one.
   */
  async #open(old: Belief, cache: Cache | null): Promise<void> {
    await this.#openWith(old, cache && (await this.#newCounter(cache)))
  }

  async #openWith(old: Belief, token: Buffer | null): Promise<void> {
    const askedAt = this.#elapsed()
    this.#learn(await this.#parts.record.open(old.generation, token), askedAt)
  }

  /** The token of a counter that stands at 0 in the cache. */
  async #newCounter(cache: Cache): Promise<Buffer> {
    const token = this.#parts.environment.newId()
    if (await cache.add(this.#key(token), ZERO, MAX_TTL_SECONDS)) return token
    throw new CacheError(
      'CACHE_REFUSED',
      'wide-cache: the cache does not store the counter of a new generation',
    )
  }

  /** The cache has no counter any more. */
  async #lost(belief: Belief, cache: Cache): Promise<void> {
    const { logger, name } = this.#parts
    const now = this.#elapsed()
    const recent = this.#losses.filter((at) => at > now - LOSSES_MS).length + 1
    const losses = `the cache has lost the counter ${recent} times within ${LOSSES_MS / 1000} s`
    if (recent > 1) this.#callers.failure = new Error(losses)
    if (recent < MAX_LOSSES) return this.#open(belief, cache)
    await this.#open(belief, null)
    logger.warn(
      'cache',
      `wide-cache: numbers of sequence "${name}" come from SQL alone until the cache keeps a ` +
        `counter: ${losses}. ` +
        'Look for evictions (give memcached more memory), flushes, and servers that restart',
    )
  }

  async #takeFromCache(cache: Cache, token: Buffer, belief: Belief): Promise<void> {
    const key = this.#key(token)
    try {
      // What was lost on the way may have been carried out: before more is sent, the cache must
      // answer.
      if (this.#silentSince !== undefined) {
        if ((await cache.get(key)) === undefined) await this.#lost(belief, cache)
        this.#silentSince = undefined
        return
      }
      const batch = this.#callers.batch()
      const to = await cache.increment(key, batch.length)
      if (to === undefined) return await this.#lost(belief, cache)
      this.#held = { belief, batch, from: to - batch.length, to }
    } catch (error) {
      if (error instanceof CacheError && passing(error)) return this.#silent(belief, error)
      throw error
    }
    await this.#handOut(this.#held)
  }

  async #handOut(held: Held): Promise<void> {
    const { belief, batch, from, to } = held
    const left = LAST - belief.base
    const last = belief.base + Math.min(to, left)
    if (last > belief.reserved) await this.#tending
    if (
      last > belief.reserved &&
      !batch.every(({ rejected }) => rejected) &&
      !(await this.#raise(belief, last + this.#parts.block))
    ) {
      // The generation is over: the next one hands these numbers out.
      this.#held = undefined
      return
    }
    this.#held = undefined
    this.#callers.answer(
      batch,
      belief.base + Math.min(from, left) + 1,
      Math.min(to, left) - Math.min(from, left),
    )
    this.#lookAhead(belief, last, batch.length)
  }

  async #raise(belief: Belief, to: number): Promise<boolean> {
    const askedAt = this.#elapsed()
    const raised = await this.#parts.record.raise(belief.generation, Math.min(to, LAST))
    if (raised) belief.renew(askedAt, Math.min(to, LAST))
    else belief.end()
    return raised
  }

  /**
   * Raises the reserve by half a block, and renews the belief, before anybody has to wait for it.
   * Where operations carry more than that, one write in the foreground for two of them is the
   * faster way.
   */
  #lookAhead(belief: Belief, last: number, count: number): void {
    const half = Math.ceil(this.#parts.block / 2)
    if (count <= half && belief.reserved - last < half && belief.reserved < LAST) {
      this.#tend(() => this.#raise(belief, belief.reserved + half))
    } else if (belief.until - this.#elapsed() < BELIEF_MS / 2) this.#tend(() => this.#read())
  }

  async #takeFromRow(belief: Belief): Promise<void> {
    const { cache, record } = this.#parts
    if (cache && (belief.generation === 0 || this.#elapsed() >= this.#returnAt)) {
      this.#tend(() => this.#return(cache, belief))
    }
    const batch = this.#callers.batch()
    const taken = await record.take(belief.generation, batch.length)
    if (taken) this.#callers.answer(batch, taken.first, taken.count)
    else await this.#ask()
  }

  /**
   * Back to the cache, in two steps, of which the first leaves a counter there. A new sequence has
   * nothing to come back from.
   */
  async #return(cache: Cache, belief: Belief): Promise<void> {
    const probe = this.#probe
    this.#probe = undefined
    this.#returnAt = this.#elapsed() + RETURN_MS - PROBE_MS
    if (belief.generation === 0) return this.#open(belief, cache)
    if (!probe) {
      const token = await this.#newCounter(cache)
      if (this.#belief !== belief) return
      this.#probe = token
      this.#returnAt = this.#elapsed() + PROBE_MS
    } else if ((await cache.get(this.#key(probe))) !== undefined) {
      await this.#openWith(belief, probe)
      this.#parts.logger.recovered(
        'cache',
        `wide-cache: numbers of sequence "${this.#parts.name}" come from the cache again`,
      )
    }
  }

  async #silent(belief: Belief, error: CacheError): Promise<void> {
    const now = this.#elapsed()
    this.#silentSince ??= now
    if (now - this.#silentSince < SILENCE_MS) throw error
    await this.#open(belief, null)
    this.#silentSince = undefined
    const { logger, name } = this.#parts
    logger.warn(
      'cache',
      `wide-cache: numbers of sequence "${name}" come from SQL alone until the cache is ` +
        `back: ${error.message}`,
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

  async #pause(ms: number): Promise<void> {
    const { environment } = this.#parts
    const letEnd = environment.keepAlive?.()
    await sleep(environment.clock, ms)
    letEnd?.()
  }

  #elapsed(): number {
    return this.#parts.environment.clock.elapsed()
  }

  #key(token: Buffer): string {
    return `wide-cache:sequence:${this.#parts.name}:${token.toString('hex')}`
  }
}

const ZERO = Buffer.from('0')

/** Whether a failure may be over soon. The others are mistakes in the set-up, or the end. */
function passing(error: unknown): boolean {
  if (error instanceof CacheError) return error.code !== 'CACHE_CLOSED'
  return error instanceof DatabaseError && error.kind !== 'data' && error.kind !== 'usage'
}
