/** What was disturbed when, as the rules of what may be missing ask for it. */
import { firstIndex } from './first-index.js'
import type { Disturbed, FaultType } from './plan.js'

/** A time in which something was disturbed, in milliseconds since the Unix epoch. */
export interface Disturbance {
  readonly type: FaultType
  readonly disturbs: Disturbed
  /** The server, route or place of a process that is disturbed. */
  readonly target: string
  readonly from: number
  readonly to: number
}

export class Disturbances {
  readonly #byPart: Record<Disturbed, Disturbance[]> = { cache: [], sql: [], process: [], none: [] }
  readonly #longestMs: number

  constructor(disturbances: readonly Disturbance[]) {
    this.#longestMs = Math.max(0, ...disturbances.map(({ from, to }) => to - from))
    const sorted = [...disturbances].sort((a, b) => a.from - b.from)
    for (const one of sorted) this.#byPart[one.disturbs].push(one)
  }

  /** Whether nothing disturbed some parts between two moments. */
  areNone(parts: readonly Disturbed[], from: number, until: number): boolean {
    return parts.every((part) => this.of(part, from, until).length === 0)
  }

  /** Those of a part between two moments; with `targets`, those of one of these. */
  of(
    part: Disturbed,
    from: number,
    until: number,
    targets?: readonly string[],
  ): readonly Disturbance[] {
    const all = this.#byPart[part]
    const earliest = from - this.#longestMs
    const found: Disturbance[] = []
    for (
      let next = firstIndex(all.length, (index) => all[index]!.from < earliest);
      next < all.length && all[next]!.from <= until;
      next++
    ) {
      const { to, target } = all[next]!
      if (to >= from && (!targets || targets.includes(target))) found.push(all[next]!)
    }
    return found
  }
}
