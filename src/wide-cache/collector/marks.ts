import { appendOrAdd } from '../../cache/append-or-add.js'
import { type Cache, CacheError } from '../../cache/cache.js'
import type { Database } from '../../database/database.js'
import { placeholders } from '../../database/dialect.js'
import { table } from '../../database/table.js'
import { type Clock, sleep } from '../../support/clock.js'
import type { BurstLogger } from '../../support/logger.js'
import type { GridKeys } from '../grid-keys.js'
import type { GridRecord } from '../ledger/grid-record.js'
import { MARKS_KEPT_MS } from '../ledger/retention.js'
import { marksIn, marksOf, MAX_MARKS } from './mark-list.js'

const MARKS = table('wide_cache_marks', ['grid_id', 'mark'], 'made_at')

/** Lifetime of the list: half the time for which SQL keeps marks, so that it knows those listed. */
const LIST_TTL_SECONDS = MARKS_KEPT_MS / 2 / 1000

/**
 * Number of lookups of an unknown mark, and the wait between them: a node of a Galera cluster may
 * be behind.
 */
const LOOK_UP_TRIES = 6
const LOOK_UP_AGAIN_MS = 1_000

/**
 * Number of newest marks compared, and how many of them must be missing for the cache to count as
 * another one.
 */
const MARKS_COMPARED = 6
const MARKS_MISSING = 3

/**
 * Tells whether database and cache belong together. Each collecting run writes a unique mark to SQL
 * and then appends it to a list in the cache. A mark in the list that SQL never had comes from
 * another database that uses the same grid id: a clone, or this one before it was restored from a
 * backup. Marks of SQL that the list never shows were put into another cache: each machine has a
 * memcached of its own.
 */
export class Marks {
  readonly #cache: Cache
  readonly #database: Database
  readonly #record: GridRecord
  readonly #clock: Clock
  readonly #logger: BurstLogger
  readonly #name: string
  readonly #newId: () => Buffer
  /** Per grid, the marks of its list as last read, all of which SQL has. */
  readonly #lists = new Map<string, readonly string[]>()
  /** The newest mark compared, and, for each of the last few, whether the cache did not show it. */
  #newest = ''
  #missing: boolean[] = []
  #apart = false

  constructor(parts: {
    cache: Cache
    database: Database
    record: GridRecord
    clock: Clock
    logger: BurstLogger
    name: string
    newId: () => Buffer
  }) {
    this.#cache = parts.cache
    this.#database = parts.database
    this.#record = parts.record
    this.#clock = parts.clock
    this.#logger = parts.logger
    this.#name = parts.name
    this.#newId = parts.newId
  }

  /** Whether the collectors use another cache than this process, and never read what it places. */
  get apart(): boolean {
    return this.#apart
  }

  /**
   * Puts a new mark into SQL and the cache, before anything is drained. Returns it, or `undefined`
   * if the cache did not take it; `'foreign'` if another database uses this grid's id.
   */
  async put(keys: GridKeys, now: number): Promise<Buffer | 'foreign' | undefined> {
    if (this.#cache.scope === 'private') return undefined
    const mark = this.#newId()
    await MARKS.insert(this.#database, [[keys.id, mark, now]])
    try {
      if (!(await appendOrAdd(this.#cache, keys.marks, mark, LIST_TTL_SECONDS))) return undefined
      // Read behind the own mark: of two databases, the one that puts its mark later sees that of
      // the other.
      const list = await this.#list(keys)
      if (await this.#foreign(keys, list, mark)) return 'foreign'
      this.#lists.set(keys.marks, list)
      // After all have been looked at: what another database appends from now on, it does behind
      // this mark.
      if (list.length > MAX_MARKS) await this.#cache.set(keys.marks, mark, LIST_TTL_SECONDS)
    } catch (error) {
      if (!(error instanceof CacheError)) throw error
      return undefined
    }
    return mark
  }

  /**
   * Asks SQL for the newest mark, and the cache whether its list shows that mark. If the cache does
   * not answer, the mark is not compared.
   */
  async compare(): Promise<void> {
    const newest = await this.#record.refresh(this.#database)
    const { grid } = this.#record
    const mark = newest?.toString('hex')
    if (!grid || !mark || mark === this.#newest || this.#cache.scope === 'private') return
    try {
      const list = await this.#list(grid.keys)
      this.#newest = mark
      this.#missing = [...this.#missing, !list.includes(mark)].slice(-MARKS_COMPARED)
    } catch {
      // A cache that does not answer tells nothing.
    }
    this.#judge()
  }

  #judge(): void {
    const apart = this.#missing.filter((missing) => missing).length >= MARKS_MISSING
    if (apart === this.#apart) return
    this.#apart = apart
    if (apart) {
      this.#logger.error(
        `wide-cache: the collectors of "${this.#name}" use another cache than this process, ` +
          'so it commits its rows directly; ' +
          'give all processes the same list of cache servers, or, if each machine has a ' +
          'memcached of its own, a name per machine',
      )
    } else {
      this.#logger.info(
        `wide-cache: the collectors of "${this.#name}" use this process's cache again`,
      )
    }
  }

  async #list(keys: GridKeys): Promise<string[]> {
    return marksIn(await this.#cache.get(keys.marks))
  }

  /** Tells whether SQL lacks a mark of `list`. It has `own`. */
  async #foreign(keys: GridKeys, list: readonly string[], own: Buffer): Promise<boolean> {
    const known = new Set([...(this.#lists.get(keys.marks) ?? []), own.toString('hex')])
    let unknown = list.filter((mark) => !known.has(mark))
    for (let tries = 1; unknown.length > 0; tries++) {
      const { rows } = await this.#database.query(
        'SELECT mark FROM wide_cache_marks ' +
          `WHERE grid_id = ? AND mark IN (${placeholders(unknown.length)})`,
        [keys.id, ...unknown.map((mark) => Buffer.from(mark, 'hex'))],
      )
      const found = marksOf(rows)
      unknown = unknown.filter((mark) => !found.has(mark))
      if (unknown.length > 0 && tries === LOOK_UP_TRIES) return true
      if (unknown.length > 0) await sleep(this.#clock, LOOK_UP_AGAIN_MS)
    }
    return false
  }
}
