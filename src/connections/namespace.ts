import { appendOrAdd } from '../cache/append-or-add.js'
import { type Cache, CacheError } from '../cache/cache.js'
import type { Queryable } from '../database/database.js'
import {
  enterMark,
  namespaceOf,
  ownMarks,
  removeOldMarks,
  replaceNamespace,
} from '../database/identity.js'
import { sleep } from '../support/clock.js'
import type { Environment } from '../support/environment.js'
import type { Logger } from '../support/logger.js'
import { type Shared, shared } from '../support/shared.js'
import { marksIn, MAX_MARKS } from './mark-list.js'

/** Lifetime of the list of marks. SQL keeps more than are put in this time. */
const LIST_TTL_SECONDS = 24 * 3600

/** Interval at which a new mark is put, by one process for all. */
const RENEW_SECONDS = 10
const RENEW_MS = RENEW_SECONDS * 1000

/** Longest time for which a process that uses the cache does not look at the marks. */
const LOOK_MS = 60_000

/**
 * Time without an answer about the list of marks after which a process uses the cache all the same:
 * the list's server may be gone for good, and other servers be there.
 */
const LIST_PATIENCE_MS = 20_000

/**
 * Number of lookups of an unknown mark, and the wait between them: a node of a Galera cluster may
 * be behind.
 */
const LOOK_UP_TRIES = 6
const LOOK_UP_AGAIN_MS = 1_000

/** Interval at which a process removes old marks. */
const REMOVE_EVERY_MS = 3600_000

/** Marks of a namespace, as SQL sees them. */
type Seen = 'own' | 'other' | 'moved'

export interface NamespaceParts {
  readonly cache: Cache
  readonly database: Queryable
  readonly environment: Environment
  readonly logger: Pick<Logger, 'error'>
}

/**
 * The namespace of a database: its keys in caches begin with it, so databases that share a cache
 * never share a key. A copy of a database has the same namespace until it is first used, and marks
 * tell the two apart. A mark is random. It is written to SQL, and then appended to a list in the
 * cache. A mark in the list that SQL never had belongs to another database.
 *
 * A process first reads the list, before it uses any other key. If it finds a foreign mark, it
 * gives its database a new namespace, and the other database notices nothing. Otherwise it puts a
 * mark and reads again: of two copies that do this at once, the one that puts its mark later sees
 * that of the other. From then on one process puts a new mark every 10 s, for all. So a copy that
 * is used for the first time 10 s after the copying, or later, finds a mark that it never had. A
 * database that was restored from a backup looks the same, and is treated the same.
 */
export class Namespace {
  readonly #parts: NamespaceParts
  readonly #enters: Shared<void>
  readonly #looks: Shared<void>
  #id: Buffer | undefined
  #start: string | undefined
  /** Moment at which this process last tried to be the one that puts a mark. */
  #triedAt = -Infinity
  /** Whether this process is to put the next mark, for all. */
  #isElected = false
  #lookedAt = -Infinity
  /** Moment at which this process looks again, though nobody asks it to. */
  #dueAt = -Infinity
  /** Moment since which the list of marks is not answered for, before the first answer. */
  #silentSince: number | undefined
  #removedAt = -Infinity
  #list: readonly string[] = []

  constructor(parts: NamespaceParts) {
    this.#parts = parts
    const { clock } = parts.environment
    this.#enters = shared(clock, 0, () => this.#enter(parts.database))
    this.#looks = shared(clock, 0, () => this.#look())
  }

  /**
   * The start of the database's keys. `undefined`: not known yet. To be asked for at each use of
   * the cache: what is due about the marks is done in the background.
   */
  get start(): string | undefined {
    if (this.#start !== undefined && this.#elapsed - this.#triedAt >= RENEW_MS) {
      this.#triedAt = this.#elapsed
      void this.#renew().catch(() => undefined)
    }
    return this.#start
  }

  /** The namespace. `undefined`: not known yet. */
  get id(): Buffer | undefined {
    return this.#id
  }

  /** Tells whether the cache's list had a mark, in hexadecimal, when it was last looked at. */
  shows(mark: string): boolean {
    return this.#list.includes(mark)
  }

  /** The newest mark of the list by then; `undefined`: none, or the cache is private. */
  get newest(): Buffer | undefined {
    const mark = this.#list.at(-1)
    return mark === undefined ? undefined : Buffer.from(mark, 'hex')
  }

  /**
   * Learns the start of the database's keys from `raw`, the database before others may use it, and
   * again where its tables were made anew. If the cache does not answer, that is left for later.
   *
   * @throws DatabaseError
   */
  async enterBy(raw: Queryable): Promise<void> {
    if (this.#start !== undefined && (await namespaceOf(raw)).equals(this.#id!)) return
    this.#start = undefined
    await this.#enter(raw).catch((error: unknown) => {
      if (!(error instanceof CacheError)) throw error
    })
  }

  /** Returns the start of the database's keys. @throws DatabaseError, CacheError */
  async enter(): Promise<string> {
    if (this.#start === undefined) await this.#enters()
    return this.#start!
  }

  /**
   * Looks at the marks, unless that was done within the last 10 s, or `always`. Afterwards no other
   * database has the namespace, as far as the cache shows. @throws DatabaseError, CacheError
   */
  async look({ always = false } = {}): Promise<void> {
    await this.enter()
    if (always || this.#elapsed - this.#lookedAt >= RENEW_MS) await this.#looks()
  }

  get #elapsed(): number {
    return this.#parts.environment.clock.elapsed()
  }

  async #enter(database: Queryable): Promise<void> {
    const { cache } = this.#parts
    for (;;) {
      const began = this.#elapsed
      const id = await namespaceOf(database)
      const seen = cache.scope === 'private' ? 'own' : await this.#compareAtEntry(database, id)
      if (seen === 'own') return this.#adopt(id, began)
      if (seen === 'silent') return this.#adopt(id, -Infinity)
      if (seen === 'other') await this.#replace(database, id)
    }
  }

  /** Reads the marks of a namespace, puts one, and reads them again. */
  async #compareAtEntry(database: Queryable, id: Buffer): Promise<Seen | 'silent'> {
    const now = this.#elapsed
    try {
      const seen = await this.#compare(database, id)
      if (seen !== 'own') return seen
      return await this.#compare(database, id, await this.#put(database, id))
    } catch (error) {
      if (!(error instanceof CacheError)) throw error
      this.#silentSince ??= now
      if (now - this.#silentSince < LIST_PATIENCE_MS) throw error
      return 'silent'
    }
  }

  /** Puts a mark, if no other process has within 10 s. Looks at the marks now and then. */
  async #renew(): Promise<void> {
    const isDue = this.#elapsed >= this.#dueAt
    // Where SQL fails, too.
    if (isDue) this.#dueAt = this.#elapsed + LOOK_MS
    if (isDue || (await this.#elect())) await this.#looks()
  }

  /** Puts a mark if it is time, and reads the marks of the namespace that is in use. */
  async #look(): Promise<void> {
    const { cache, database } = this.#parts
    const id = this.#id!
    const began = this.#elapsed
    // Others of the database may use a cache that has marks, and take a new namespace for all.
    if (cache.scope === 'private') return this.#adopt(await namespaceOf(database), began)
    const seen = await this.#lookAt(id)
    if (seen === 'own') return this.#adopt(id, began)
    // From here on nothing is done under its keys.
    this.#start = undefined
    if (seen === 'other') await this.#replace(database, id)
    await this.#enters()
  }

  async #lookAt(id: Buffer): Promise<Seen> {
    const { database } = this.#parts
    try {
      const isElected = await this.#elect()
      this.#isElected = false
      return await this.#compare(
        database,
        id,
        isElected ? await this.#put(database, id) : undefined,
      )
    } catch (error) {
      // Where the cache does not answer, SQL still says whether the database has another namespace.
      if (!(error instanceof CacheError)) throw error
      if ((await namespaceOf(database)).equals(id)) throw error
      return 'moved'
    }
  }

  /** Tells whether this process is to put the next mark. */
  async #elect(): Promise<boolean> {
    const { cache } = this.#parts
    if (this.#isElected || cache.scope === 'private') return this.#isElected
    this.#isElected = await cache.add(
      `${keyStartOf(this.#id!)}marked`,
      Buffer.from('1'),
      RENEW_SECONDS,
    )
    return this.#isElected
  }

  /** @param lookedAt when the marks were looked at, by `clock.elapsed()` */
  #adopt(id: Buffer, lookedAt: number): void {
    this.#id = id
    this.#start = keyStartOf(id)
    this.#silentSince = undefined
    this.#lookedAt = lookedAt
    this.#dueAt = lookedAt + LOOK_MS
    this.#triedAt = lookedAt
  }

  /** Puts a new mark into SQL, and then into the cache. Returns it. */
  async #put(database: Queryable, id: Buffer): Promise<Buffer> {
    const { cache, environment } = this.#parts
    const mark = environment.newId()
    await enterMark(database, mark)
    await appendOrAdd(cache, marksKey(id), mark, LIST_TTL_SECONDS)
    return mark
  }

  /**
   * Tells whether SQL has all marks of the cache's list, and still has this namespace. Begins the
   * list anew where it has become long: what another database appends from then on, it does behind
   * `put`.
   *
   * @param put the mark that this process has just put
   */
  async #compare(database: Queryable, id: Buffer, put?: Buffer): Promise<Seen> {
    const { cache, environment } = this.#parts
    const list = marksIn(await cache.get(marksKey(id)))
    for (let tries = 1; ; tries++) {
      const { namespace, own, newest } = await ownMarks(database, list)
      if (!namespace.equals(id)) return 'moved'
      if (list.every((mark) => own.has(mark))) {
        if (put) {
          // A list that is full for the cache, or has more marks than are read, shows no new one.
          const isFull = list.length > MAX_MARKS || !list.includes(put.toString('hex'))
          if (isFull) await cache.set(marksKey(id), put, LIST_TTL_SECONDS)
          await this.#removeOld(database, newest)
        }
        this.#list = list
        return 'own'
      }
      if (tries === LOOK_UP_TRIES) return 'other'
      await sleep(environment.clock, LOOK_UP_AGAIN_MS)
    }
  }

  /** Removes old marks from SQL, once an hour. */
  async #removeOld(database: Queryable, newest: number): Promise<void> {
    if (this.#elapsed - this.#removedAt < REMOVE_EVERY_MS) return
    this.#removedAt = this.#elapsed
    await removeOldMarks(database, newest)
  }

  async #replace(database: Queryable, id: Buffer): Promise<void> {
    const { environment, logger } = this.#parts
    // Of several processes of this database that see the foreign mark, one does it.
    if (!(await replaceNamespace(database, id, environment.newId()))) return
    logger.error(
      'wide-cache: another database uses the cache keys of this one (one is a copy of the other, ' +
        'or this one was restored from a backup); this database takes new keys, and its ' +
        'processes commit what they have in the cache; nobody has to act',
    )
  }
}

/** The start of the keys of a namespace. */
export function keyStartOf(id: Buffer): string {
  return `wide-cache:${id.toString('hex')}:`
}

/** The key of the list of marks of a namespace. */
export function marksKey(id: Buffer): string {
  return `${keyStartOf(id)}marks`
}
