import { EPOCH, type World } from './world.js'

/** The clock of a simulated database server, which somebody may set wrong and right again. */
export class SimulatedDatabaseClock {
  readonly #world: World
  readonly #steps: { readonly at: number; readonly skew: number }[] = [{ at: 0, skew: 0 }]

  constructor(world: World) {
    this.#world = world
  }

  /** Makes the clock wrong by `skew` milliseconds. */
  set(skew: number): void {
    if (skew === this.#steps.at(-1)!.skew) return
    this.#world.note(`a database's clock is wrong by ${skew} ms`)
    this.#steps.push({ at: this.#world.now, skew })
  }

  get now(): number {
    return EPOCH + this.#world.now + this.#steps.at(-1)!.skew
  }

  get isAhead(): boolean {
    return this.#steps.at(-1)!.skew > 0
  }

  /** Milliseconds for which it has been ahead so far. */
  get aheadMs(): number {
    let sum = 0
    for (const [index, { at, skew }] of this.#steps.entries()) {
      if (skew > 0) sum += (this.#steps[index + 1]?.at ?? this.#world.now) - at
    }
    return sum
  }

  /**
   * The latest that a process can take it to say between two moments of the world, if it carries on
   * what it has read for `carriedMs`.
   */
  latest(from: number, to = this.#world.now, carriedMs = 0): number {
    let latest = -Infinity
    for (const [index, { at, skew }] of this.#steps.entries()) {
      const end = Math.min(to, (this.#steps[index + 1]?.at ?? to) + carriedMs)
      if (end >= from && at <= to) latest = Math.max(latest, EPOCH + end + skew)
    }
    return latest
  }

  /**
   * The earliest that a process can take it to say since a moment of the world, if it carries on
   * what it has read for `carriedMs`.
   */
  earliest(from: number, carriedMs: number): number {
    let earliest = Infinity
    for (const [index, { at, skew }] of this.#steps.entries()) {
      const end = (this.#steps[index + 1]?.at ?? Infinity) + carriedMs
      if (end >= from) earliest = Math.min(earliest, EPOCH + Math.max(from, at) + skew)
    }
    return earliest
  }
}
