/**
 * The database and the cache of one object, from its creation to its `close()`. Every class opens,
 * owns, migrates and closes them here: what was opened from a URL, or by default, is closed with
 * the object; a database or cache that the user has made stays open. Objects with the same URL of a
 * MySQL or PostgreSQL server share its connections, which are closed with the last of them.
 */
import type { Cache } from '../cache/cache.js'
import { openCache } from '../cache/open.js'
import type { Database, Queryable } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { ClosedError } from '../support/closed-error.js'
import { type Environment, keptAlive } from '../support/environment.js'
import { CLOSE_TIMEOUT_MS, Lifetime } from '../support/lifetime.js'
import type { Logger } from '../support/logger.js'
import { within } from '../support/within.js'
import { namespaced, type NamespacedCache } from './namespaced-cache.js'
import { PreparedDatabase } from './prepared-database.js'
import { sharedDatabase } from './shared-database.js'

/** Time that closing waits, past its timeout, for connections that do not answer. */
const RELEASE_MS = 500

/**
 * Owns the database and the cache of one object. `Report`: the value that closing resolves with.
 */
export class Connections<Report = void> extends Lifetime<Report> {
  readonly #environment: Environment
  readonly #owned: { close(): Promise<void> }[] = []

  /**
   * @param what the class, such as `Sequence`, and `name`, what the object was made with, both for
   * the {@link ClosedError}
   */
  constructor(what: string, name: string, environment: Environment) {
    super(() => new ClosedError(what, name))
    this.#environment = environment
  }

  /** Runs `work`, and keeps the process alive meanwhile; rejects once closing has begun. */
  override run<T>(work: () => Promise<T>): Promise<T> {
    return super.run(() => keptAlive(this.#environment, work))
  }

  /** Ends it by `end`, which is called once, and keeps the process alive meanwhile. */
  override close(end: () => Promise<Report>): Promise<Report> {
    return super.close(() => keptAlive(this.#environment, end))
  }

  /**
   * Opens what the option `database` asks for.
   *
   * @param parts the parts of the package whose tables are used
   * @param uses.logger is told which parts of a URL are ignored
   * @param uses.through wraps the database; all use of the database goes through the result
   * @param uses.enter runs each time the tables have been migrated, on the database itself
   * @throws TypeError, RangeError
   */
  openDatabase(
    given: string | Database | undefined,
    parts: readonly string[],
    uses: {
      logger?: Logger
      through?: (database: Database) => Database
      enter?: (database: Queryable) => Promise<void>
    } = {},
  ): PreparedDatabase {
    const { database, owned } = openDatabase(given, uses.logger, process.env, sharedDatabase)
    if (owned) this.#owned.push(database)
    const { through = (same) => same } = uses
    return new PreparedDatabase(through(database), parts, this.#environment, uses.enter)
  }

  /** Opens what the option `cache` asks for. @throws TypeError, RangeError */
  openCache(given: string | Cache | undefined): Cache {
    const { cache, owned } = openCache(given)
    if (owned) this.#owned.push(cache)
    return cache
  }

  /**
   * Opens what the option `cache` asks for, and returns the part of it that belongs to `database`.
   * @throws TypeError, RangeError
   */
  openNamespaced(
    given: string | Cache | undefined,
    database: PreparedDatabase,
    logger: Pick<Logger, 'error'> = console,
  ): NamespacedCache {
    const environment = this.#environment
    return namespaced(this.openCache(given), { database, environment, logger })
  }

  /**
   * Waits for `more`, and at most 5 s for what is under way. Then closes what was opened here. For
   * classes that have no `closeTimeoutMs`.
   */
  async finish(more?: Promise<unknown>): Promise<void> {
    await Promise.all([more, within(CLOSE_TIMEOUT_MS, this.idle())])
    await this.#release()
  }

  /** Closes what was opened here, but waits no longer than half a second after `timeout`. */
  async releaseBy(timeout: Promise<unknown>): Promise<void> {
    const { clock } = this.#environment
    const released = this.#release()
    await Promise.race([released, timeout.then(() => within(RELEASE_MS, released, clock))])
  }

  async #release(): Promise<void> {
    await Promise.allSettled(this.#owned.map((opened) => opened.close()))
  }
}
