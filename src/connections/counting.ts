/**
 * A database and a cache whose failures are counted by server, for metrics and for `health()`. They
 * pass on each request once, and each promise that they get: they cost no turn of the event loop.
 */
import assert from 'node:assert/strict'
import { type Cache, CacheError } from '../cache/cache.js'
import { ForwardingCache } from '../cache/forwarding.js'
import { type Database, DatabaseError } from '../database/database.js'
import { ForwardingDatabase } from '../database/forwarding.js'
import type { Clock } from '../support/clock.js'

/** Servers told apart; a list of servers is shorter. */
const MAX_SERVERS = 100

/** Time for which something counts as failing after its last failure. */
const UNUSED_MS = 60_000

/** Failures of the operations of one process. */
export class ErrorCounts {
  readonly #clock: Clock
  readonly #servers = new Map<string, { errors: number; lastAt: number }>()
  #conflicts = 0
  #failingSince: number | undefined
  #failedAt = -Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Operations that gave no usable answer, by `host:port`. */
  get byServer(): ReadonlyMap<string, number> {
    return new Map([...this.#servers].map(([server, { errors }]) => [server, errors]))
  }

  /** Transactions that the locks of another one have stopped. They are retried. */
  get conflicts(): number {
    return this.#conflicts
  }

  /**
   * Milliseconds without a success since an operation failed. `undefined`: none has failed, or the
   * last failure was over a minute ago.
   */
  get failingMs(): number | undefined {
    const elapsed = this.#clock.elapsed()
    // One that is in use fails again within this time; one that is not used tells nothing.
    if (this.#failingSince === undefined || elapsed - this.#failedAt > UNUSED_MS) return undefined
    return elapsed - this.#failingSince
  }

  /** The servers that have failed within the last `ms` milliseconds. */
  failedWithin(ms: number): string[] {
    const since = this.#clock.elapsed() - ms
    return [...this.#servers].filter(([, { lastAt }]) => lastAt >= since).map(([server]) => server)
  }

  /** An operation has been answered. */
  succeeded(): void {
    this.#failingSince = undefined
  }

  failed(server: string): void {
    const lastAt = this.#clock.elapsed()
    this.#failingSince ??= lastAt
    this.#failedAt = lastAt
    const name = this.#servers.has(server) || this.#servers.size < MAX_SERVERS ? server : 'others'
    this.#servers.set(name, { errors: (this.#servers.get(name)?.errors ?? 0) + 1, lastAt })
  }

  conflict(): void {
    this.#conflicts++
  }
}

/**
 * Categories of error that do not count as failures of the server: it has answered, or was not
 * asked.
 */
const ANSWERS: readonly string[] = ['lock', 'data']

/** {@link Database}, with its failures counted. */
export class CountingDatabase extends ForwardingDatabase {
  readonly errors: ErrorCounts

  private constructor(database: Database, clock: Clock) {
    super(database)
    this.errors = new ErrorCounts(clock)
  }

  /**
   * Returns the database with its failures counted. One that counts already is returned as it is.
   */
  static of(database: Database, clock: Clock): CountingDatabase {
    return database instanceof CountingDatabase ? database : new CountingDatabase(database, clock)
  }

  protected override around<T>(call: () => Promise<T>): Promise<T> {
    const answer = call()
    Promise.resolve(answer).then(
      () => this.errors.succeeded(),
      (error: unknown) => this.#failed(error),
    )
    return answer
  }

  #failed(error: unknown): void {
    if (!(error instanceof DatabaseError) || error.code === 'DATABASE_CLOSED') return
    if (error.category === 'lock') this.errors.conflict()
    if (ANSWERS.includes(error.category)) this.errors.succeeded()
    else this.errors.failed(error.server ?? this.dialect)
  }
}

/** Tells whether another object already counts and reports the failures of `database`. */
export function isCounting(database: unknown): boolean {
  return database instanceof CountingDatabase
}

/** The failures of a database that {@link CountingDatabase.of} has returned. */
export function errorsOf(database: Database): ErrorCounts {
  assert(database instanceof CountingDatabase)
  return database.errors
}

/** {@link Cache}, with its failures counted. */
export class CountingCache extends ForwardingCache {
  readonly errors: ErrorCounts

  constructor(cache: Cache, clock: Clock) {
    super(cache)
    this.errors = new ErrorCounts(clock)
  }

  override getMany(
    keys: readonly string[],
    onUnanswered?: (key: string, error: CacheError) => void,
  ): Promise<Map<string, Buffer>> {
    let unanswered = 0
    const onEach =
      onUnanswered &&
      ((key: string, error: CacheError) => {
        unanswered++
        this.#failed(error)
        onUnanswered(key, error)
      })
    const isAnswered = () => unanswered < keys.length
    return this.#watched(this.cache.getMany(keys, onEach), isAnswered)
  }

  protected override around<T>(key: string, call: (key: string) => Promise<T>): Promise<T> {
    return this.#watched(call(key))
  }

  #watched<T>(answer: Promise<T>, isAnswered: () => boolean = () => true): Promise<T> {
    Promise.resolve(answer).then(
      () => {
        if (isAnswered()) this.errors.succeeded()
      },
      (error: unknown) => this.#failed(error),
    )
    return answer
  }

  #failed(error: unknown): void {
    if (!(error instanceof CacheError) || error.code === 'CACHE_CLOSED') return
    this.errors.failed(error.server ?? 'memory')
  }
}
