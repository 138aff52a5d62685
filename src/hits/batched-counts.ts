import type { Clock } from '../support/clock.js'

/** Milliseconds between two questions to SQL. */
const PERIOD_MS = 1_000

/** Items of one question. */
const MAX_ASKED = 1_000

/** Items whose counts are remembered, and items that are waited for. */
export const MAX_REMEMBERED = 10_000
const MAX_WAITING = 10_000

interface Waiting {
  readonly promise: Promise<number>
  readonly resolve: (count: number) => void
  readonly reject: (error: unknown) => void
}

interface Remembered {
  readonly count: number
  readonly until: number
}

/**
 * Counts that anyone may ask for: however many requests there are and for whatever items, SQL is
 * asked once a second, for 1,000 items, and memory is bounded. An item is asked for once, also if
 * that fails.
 */
export class BatchedCounts {
  readonly #counts: (items: readonly string[]) => Promise<ReadonlyMap<string, number>>
  readonly #clock: Clock
  readonly #keptMs: number
  /** The oldest first. */
  readonly #remembered = new Map<string, Remembered>()
  /** The oldest first. */
  readonly #waiting = new Map<string, Waiting>()
  #askedAt = -Infinity
  #busy = false

  /** @param keptMs how long a count is used again */
  constructor(
    counts: (items: readonly string[]) => Promise<ReadonlyMap<string, number>>,
    clock: Clock,
    keptMs: number,
  ) {
    this.#counts = counts
    this.#clock = clock
    this.#keptMs = keptMs
  }

  /** @throws what `counts` throws; an Error when too many items are waited for */
  async read(item: string): Promise<number> {
    const known = this.#remembered.get(item)
    if (known && this.#clock.elapsed() < known.until) return known.count
    const waiting = this.#waiting.get(item)
    if (waiting) return waiting.promise
    if (this.#waiting.size >= MAX_WAITING) throw new Error('Too many counts are asked for')
    const { promise, resolve, reject } = withResolvers()
    this.#waiting.set(item, { promise, resolve, reject })
    this.#askNext()
    return promise
  }

  #askNext(): void {
    if (this.#busy || this.#waiting.size === 0) return
    this.#busy = true
    const wait = Math.max(0, this.#askedAt + PERIOD_MS - this.#clock.elapsed())
    this.#clock.after(wait, () => void this.#ask())
  }

  /** Never rejects. */
  async #ask(): Promise<void> {
    this.#askedAt = this.#clock.elapsed()
    const asked = [...this.#waiting].slice(0, MAX_ASKED)
    for (const [item] of asked) this.#waiting.delete(item)
    try {
      const counts = await this.#counts(asked.map(([item]) => item))
      for (const [item, { resolve }] of asked) {
        const count = counts.get(item) ?? 0
        this.#remember(item, count)
        resolve(count)
      }
    } catch (error) {
      for (const [, { reject }] of asked) reject(error)
    }
    this.#busy = false
    this.#askNext()
  }

  #remember(item: string, count: number): void {
    this.#remembered.delete(item)
    this.#remembered.set(item, { count, until: this.#clock.elapsed() + this.#keptMs })
    if (this.#remembered.size > MAX_REMEMBERED) {
      this.#remembered.delete(this.#remembered.keys().next().value!)
    }
  }
}

function withResolvers(): Waiting {
  let resolve: Waiting['resolve'] = () => undefined
  let reject: Waiting['reject'] = () => undefined
  const promise = new Promise<number>((...functions) => {
    ;[resolve, reject] = functions
  })
  return { promise, resolve, reject }
}
