import { CachedRead, type CachedReadParts, type Reading } from './cached-read.js'

/** Most keys whose figures a process remembers. */
const MAX_READS = 200

/** A {@link CachedRead} for each key. Those not asked for in a long time are forgotten. */
export class CachedReads {
  readonly #parts: CachedReadParts
  /** The least recently used first. */
  readonly #reads = new Map<string, CachedRead<unknown>>()

  constructor(parts: CachedReadParts) {
    this.#parts = parts
  }

  /**
   * Returns the figures of `key`, which `query` reads. @throws the error of the query, if there are
   * no older figures
   */
  read<Figures>(key: string, query: () => Promise<Reading<Figures>>): Promise<Figures> {
    const read = this.#reads.get(key) ?? new CachedRead({ ...this.#parts, key, query })
    this.#reads.delete(key)
    this.#reads.set(key, read)
    if (this.#reads.size > MAX_READS) this.#reads.delete(this.#reads.keys().next().value!)
    // A key stands for the figures of one question.
    return read.read() as Promise<Figures>
  }
}
