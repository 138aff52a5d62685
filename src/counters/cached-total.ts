import type { Cache } from '../cache/cache.js'
import type { Environment } from '../support/environment.js'

/** An entry that has grown longer is read anew from SQL. */
const MAX_BYTES = 4_000
/** A reading that has not brought its total by then is given up by the others. */
const ABANDONED_MS = 1_000
/**
 * After a failure the cache is not told of increments for so long, since each would wait for its
 * time-out.
 */
const REST_MS = 1_000
/** Time for which the entry seen after one increment serves the next one, in ms. */
const SEEN_MS = 100

/** Content of an entry. `total` is missing if its reading has not ended, or it is not exact. */
interface Entry {
  readonly token: string
  readonly total: number | undefined
}

/** State of the cache before increments were committed. */
export interface Seen {
  /**
   * The reading whose total lacks those increments; without it, they may be in the total of a
   * reading under way.
   */
  readonly token: string | undefined
}

/**
 * A total in the cache that follows committed increments, and is never older than its TTL. The
 * entry is a log: appending is atomic and keeps the TTL. Its reader first puts down a token with
 * the TTL, only then reads SQL, and then appends the total: `token;` and `token=total;`. A total
 * that comes too late meets no entry, or another's token, and is not believed. So no clocks are
 * compared.
 *
 * An increment asks for the entry before it is committed, and appends `token+delta;` afterwards.
 * Where it has seen the reading's total before its commit, the total lacks it, and it is added.
 * Otherwise the reading may have been under way during the commit, and the total may have it or
 * not: then the entry is deleted.
 */
export class CachedTotal {
  readonly #cache: Cache
  readonly #environment: Environment
  readonly #ttlSeconds: number
  /** A reading that was seen without its total, and when first. */
  #unfinished: { readonly token: string; readonly since: number } | undefined
  #restUntil = -Infinity
  #seen: { readonly token: string; readonly at: number } | undefined

  constructor(cache: Cache, environment: Environment, ttlSeconds: number) {
    this.#cache = cache
    this.#environment = environment
    this.#ttlSeconds = ttlSeconds
  }

  /**
   * The total in the cache; otherwise that of `read`, which is then stored in the cache, unless
   * another process is reading it.
   * A cache that does not answer is skipped.
   *
   * @throws what `read` throws
   */
  async get(key: string, read: () => Promise<number>): Promise<number> {
    const token = this.#environment.newId().toString('hex')
    let mine = false
    try {
      const found = await this.#cache.get(key)
      const entry = found && entryOf(found)
      if (entry?.total !== undefined) return entry.total
      if (found && this.#isUseless(entry)) await this.#cache.delete(key)
      // An `add` without an answer may yet be carried out, after the reading: its token is never
      // followed by a total.
      mine = await this.#cache.add(key, Buffer.from(`${token};`), this.#ttlSeconds)
    } catch {
      mine = false
    }
    const total = await read()
    if (mine) await this.#cache.append(key, Buffer.from(`${token}=${total};`)).catch(() => false)
    return total
  }

  /** To be asked for before increments are committed. Never rejects. */
  async before(key: string | undefined): Promise<Seen> {
    if (key === undefined) return { token: undefined }
    if (this.#seen && this.#environment.clock.elapsed() - this.#seen.at < SEEN_MS) {
      return { token: this.#seen.token }
    }
    await this.#unlessDown(() => this.#look(key))
    return { token: this.#seen?.token }
  }

  async #look(key: string): Promise<void> {
    const bytes = await this.#cache.get(key)
    const entry = bytes && entryOf(bytes)
    this.#seen =
      entry?.total === undefined
        ? undefined
        : { token: entry.token, at: this.#environment.clock.elapsed() }
  }

  /**
   * Tells the cache of increments that have been committed; `undefined`: may have been. Never
   * rejects.
   */
  async after(key: string, { token }: Seen, delta: number | undefined): Promise<void> {
    await this.#unlessDown(async () => {
      if (token === undefined || delta === undefined) await this.#cache.delete(key)
      // The next increment is often close behind, and has seen the entry with the same round trip.
      else {
        await Promise.all([
          this.#cache.append(key, Buffer.from(`${token}+${delta};`)),
          this.#look(key),
        ])
      }
    })
  }

  /**
   * Tells whether the entry is in the way of a new reading: it is broken, it is too long, or its
   * reader has not come back.
   */
  #isUseless(entry: Entry | undefined): boolean {
    if (!entry) return true
    const now = this.#environment.clock.elapsed()
    if (this.#unfinished?.token !== entry.token) {
      this.#unfinished = { token: entry.token, since: now }
    }
    return now - this.#unfinished.since >= ABANDONED_MS
  }

  /** `undefined` if it fails, or something has failed just now. */
  async #unlessDown<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { clock } = this.#environment
    if (clock.elapsed() < this.#restUntil) return undefined
    try {
      return await work()
    } catch {
      this.#restUntil = clock.elapsed() + REST_MS
      return undefined
    }
  }
}

/** `undefined`: of no use. */
function entryOf(bytes: Buffer): Entry | undefined {
  if (bytes.length > MAX_BYTES) return undefined
  const [token = '', ...parts] = bytes.toString('latin1').split(';')
  if (!/^[0-9a-f]{32}$/.test(token) || parts.pop() !== '') return undefined
  let total: number | undefined
  for (const part of parts) {
    const [, of, sign, digits] = /^([0-9a-f]{32})([=+])(-?\d{1,16})$/.exec(part) ?? []
    if (of === undefined) return undefined
    if (sign === '=') {
      // Another reading's total is too late.
      if (of === token) total = Number(digits)
    } else {
      // Increments that saw another reading's total may be in this one or not.
      if (of !== token || total === undefined) return undefined
      total += Number(digits)
    }
  }
  return { token, total: total === undefined || Number.isSafeInteger(total) ? total : undefined }
}
