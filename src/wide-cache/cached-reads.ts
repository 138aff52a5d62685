import { CachedRead, type CachedReadParts, type CachedFigures } from './cached-read.js'

/**
 * Most keys whose figures a process remembers, and bytes of these as JSON; as objects they take
 * some four times as many. Keys may come from strangers.
 */
const MAX_READS = 200
const MAX_BYTES = 4 * 1024 * 1024

/** A {@link CachedRead} for each key. Those not asked for in a long time are forgotten. */
export class CachedReads {
  readonly #parts: CachedReadParts
  /** The least recently used first. */
  readonly #reads = new Map<string, CachedRead<unknown>>()
  /** Start of the keys, which tells figures from those that are forgotten but still cached. */
  #start = ''
  #forgotten = 0

  constructor(parts: CachedReadParts) {
    this.#parts = parts
  }

  /**
   * Returns the figures of `key`, which `query` reads. @throws the error of the query, if there are
   * no older figures
   */
  read<Figures>(key: string, query: () => Promise<CachedFigures<Figures>>): Promise<Figures> {
    const known = this.#reads.get(key)
    if (!known) this.#makeRoom()
    const read = known ?? new CachedRead({ ...this.#parts, key: this.#start + key, query })
    this.#reads.delete(key)
    this.#reads.set(key, read)
    // A key stands for the figures of one question.
    return read.read() as Promise<Figures>
  }

  /** Forgets all figures, also those in the cache, as far as this process is concerned. */
  forget(): void {
    this.#reads.clear()
    this.#start = `${++this.#forgotten}:`
  }

  #makeRoom(): void {
    let bytes = 0
    for (const read of this.#reads.values()) bytes += read.bytes
    for (const [key, read] of this.#reads) {
      if (this.#reads.size < MAX_READS && bytes < MAX_BYTES) return
      bytes -= read.bytes
      this.#reads.delete(key)
    }
  }
}
