/** A seeded source of random numbers: the only one that the simulation has. */
export class Random {
  #state: number
  #forks = 0

  constructor(seed: number) {
    this.#state = (seed ^ 0x9e3779b9) >>> 0
    // Neighbouring seeds are to part at once.
    for (let i = 0; i < 8; i++) this.next()
  }

  /** 0 <= n < 1: mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }

  /** A whole number, `from` and `to` included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** Another source, which draws numbers of its own and leaves this one as it is. */
  fork(): Random {
    return new Random(~this.#state + this.#forks++)
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.next() * choices.length)]!
  }
}
