import { CacheError } from '../../cache/cache.js'
import type { NamespacedCache } from '../../connections/namespaced-cache.js'
import type { Database } from '../../database/database.js'
import type { BurstLogger } from '../../support/logger.js'
import type { GridRecord } from '../ledger/grid-record.js'

/**
 * Number of newest marks compared, and how many of them must be missing for the cache to count as
 * another one.
 */
const MARKS_COMPARED = 6
const MARKS_MISSING = 3

interface SameCacheParts {
  readonly settings: { readonly name: string }
  readonly cache: Pick<NamespacedCache, 'scope' | 'namespace'>
  readonly database: Database
  readonly record: GridRecord
  readonly logger: BurstLogger
}

/**
 * Tells whether the collectors of a name use the same cache as this process. Each rise of the
 * watermark records the newest mark that the collector's cache shows. Marks that this process's
 * cache never shows are in another one, unless it has lost its own ones: each machine has a
 * cache server of its own.
 */
export class SameCache {
  readonly #parts: SameCacheParts
  /** The newest mark compared, and, for each of the last few, whether the cache did not show it. */
  #newest = ''
  #missing: boolean[] = []
  /** The newest mark of the cache's list when it was last looked at. */
  #listed: string | undefined
  #differs = false
  #isTheirs = false

  constructor(parts: SameCacheParts) {
    this.#parts = parts
  }

  /** Whether the collectors use another cache than this process, and never read what it places. */
  get differs(): boolean {
    return this.#differs
  }

  /**
   * Whether the cache has shown the newest mark of the collectors that this process has heard of,
   * or SQL has none, because no collector has ever come.
   */
  get isTheirs(): boolean {
    return this.#isTheirs
  }

  /**
   * Asks SQL for the newest mark, and the cache whether its list shows that mark. If the cache does
   * not answer, the mark is not compared. Also learns whether the database has another namespace.
   */
  async compare(): Promise<void> {
    const { cache, database, record } = this.#parts
    const newest = await record.refresh(database)
    const mark = newest?.toString('hex')
    await this.#look()
    if (!mark) this.#isTheirs = true
    if (!mark || mark === this.#newest || cache.scope === 'private') return
    if (!this.#shows(mark) && !(await this.#look(true))) return
    this.#newest = mark
    // One cache that was flushed shows none of its older marks.
    const hasLostList = this.#listed !== undefined && !this.#shows(this.#listed)
    this.#listed = cache.namespace.newest?.toString('hex')
    if (hasLostList && !this.#shows(mark)) return
    this.#isTheirs = this.#shows(mark)
    this.#missing = [...this.#missing, !this.#isTheirs].slice(-MARKS_COMPARED)
    this.#judge()
  }

  #shows(mark: string): boolean {
    return this.#parts.cache.namespace.shows(mark)
  }

  /** Looks at the marks of the cache. `false`: it does not answer. */
  async #look(always = false): Promise<boolean> {
    try {
      await this.#parts.cache.namespace.look({ always })
      return true
    } catch (error) {
      if (!(error instanceof CacheError)) throw error
      return false
    }
  }

  #judge(): void {
    const { settings, logger } = this.#parts
    const differs = this.#missing.filter((missing) => missing).length >= MARKS_MISSING
    if (differs === this.#differs) return
    this.#differs = differs
    if (differs) {
      logger.error(
        `wide-cache: the collectors of "${settings.name}" use another cache than this process, ` +
          'so it commits its rows directly; ' +
          'give all processes the same list of cache servers, or, if each machine has a ' +
          'cache server of its own, a name per machine',
      )
    } else {
      logger.info(`wide-cache: the collectors of "${settings.name}" use this process's cache again`)
    }
  }
}
