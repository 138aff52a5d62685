/**
 * From a view to a row without identity, for activity and hits: the middleware and `record` hand
 * views in, and what comes out has a hash in place of a visitor.
 */
import type { Cache } from '../cache/cache.js'
import { type Clock, sleep } from '../support/clock.js'
import { Guard, describe } from '../visitors/guard.js'
import { Pseudonymizer, type PseudonymizerParts } from '../visitors/pseudonymizer.js'
import type { Count } from './visitors.js'

/** Turns of the event loop after which every connection that was cut has said so. */
const TURNS = 2

interface IncomingViewsParts<Subject> extends PseudonymizerParts<Subject> {
  /** Start of a message about a wrong argument, such as `record() got`. */
  readonly got: string
  /** Consequence of a private cache in each process, for a warning. */
  readonly withPrivateCache: string
}

export class IncomingViews<Subject> {
  readonly #clock: Clock
  readonly #guard: Guard
  readonly #got: string
  readonly #pseudonymizer: Pseudonymizer<Subject>
  /** Counts a view now, as the middleware does. */
  readonly count: Count<Subject>

  constructor(parts: IncomingViewsParts<Subject>) {
    const { cache, clock, logger, got, withPrivateCache } = parts
    this.#clock = clock
    this.#guard = new Guard(logger)
    this.#got = got
    const warning = cacheWarning(cache, withPrivateCache)
    if (warning) logger.warn('cache', warning)
    const pseudonymizer = new Pseudonymizer(parts)
    this.#pseudonymizer = pseudonymizer
    this.count = (subject, identity, userAgent) =>
      pseudonymizer.pseudonymize(subject, identity, userAgent)
  }

  /** Counts a view of `time`; `undefined`: of now. */
  countAt(time: number | undefined, subject: Subject, identity: string | undefined): void {
    this.#pseudonymizer.pseudonymize(subject, identity, undefined, time)
  }

  /** Says in the log which argument is invalid, and what the package does instead. */
  refused(
    field: string,
    value: unknown,
    wanted: string,
    instead: string,
    what = describe(value),
  ): void {
    this.#guard.say(`record ${field}`, `${this.#got} ${what} as "${field}", not ${wanted}`, instead)
  }

  /** Whether views wait to be forwarded. */
  get isWaiting(): boolean {
    return this.#pseudonymizer.isWaiting
  }

  /** Resolves when all views so far have been forwarded: within five seconds. */
  forwarded(): Promise<void> {
    return this.#pseudonymizer.forwarded()
  }

  /** Waits for the last views, and lets go of the salt: later ones have no visitor. */
  async end(): Promise<void> {
    await lastResponses(this.#clock)
    await this.#pseudonymizer.forwarded()
    this.#pseudonymizer.close()
  }
}

/** Returns a warning about a cache that works, but is seldom the right one. */
export function cacheWarning(
  cache: Cache,
  consequence: string,
  env: NodeJS.ProcessEnv = process.env,
): string | undefined {
  if (cache.scope !== 'private' || env['NODE_ENV'] !== 'production') return undefined
  return (
    'wide-cache: the cache is memory:, private to this process; several processes would ' +
    `${consequence}. Set WIDE_CACHE_SERVERS (or MEMCACHE_SERVERS), or the option "cache" to ` +
    'memcached://host:port'
  )
}

/**
 * Resolves when the middleware has seen the responses whose connections have just been cut.
 * `closeAllConnections()` makes the server's event `close` come before those of its responses,
 * which follow in the next turn.
 */
async function lastResponses(clock: Clock): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await sleep(clock, 0)
}
