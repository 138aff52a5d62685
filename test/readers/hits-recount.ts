/** The hits of one measure as they were recorded, and the figures that follow from them. */
import type { Hit } from '../../src/hits/hit.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import { DEFAULT_REPEAT_SECONDS } from '../../src/hits/options.js'

const WINDOW_MS = DEFAULT_REPEAT_SECONDS * 1000

export class HitsRecount {
  #hits: { time: number; item: string }[] = []
  readonly #seen = new Set<string>()

  add(hits: readonly Hit[], now: number): void {
    for (const { time: recorded, viewer, item } of hits) {
      const time = Math.min(recorded, now)
      const window = Math.floor(time / WINDOW_MS)
      const viewing = `${viewer?.toString('hex')} ${item} ${window}`
      if (viewer && this.#seen.has(viewing)) continue
      if (viewer) this.#seen.add(viewing)
      this.#hits.push({ time, item })
    }
  }

  /** Gives the hits of an item to another one, or to none. */
  move(item: string, to: string | undefined): void {
    const others = this.#hits.filter((hit) => hit.item !== item)
    const moved = this.#hits.filter((hit) => hit.item === item)
    this.#hits = [
      ...others,
      ...(to === undefined ? [] : moved.map((hit) => ({ ...hit, item: to }))),
    ]
  }

  count(item: string, from = -Infinity, to = Infinity): number {
    return this.#hits.filter((hit) => hit.item === item && hit.time >= from && hit.time < to).length
  }

  /** The first day with hits. */
  get firstDay(): number | undefined {
    const times = this.#hits.map(({ time }) => time)
    return times.length === 0 ? undefined : Math.floor(Math.min(...times) / DAY_MS)
  }

  /** The hits of all items that have any. */
  items(from = -Infinity, to = Infinity): Map<string, number> {
    const items = new Set(this.#hits.map(({ item }) => item))
    const counts = [...items].map((item) => [item, this.count(item, from, to)] as const)
    return new Map(counts.filter(([, hits]) => hits > 0))
  }
}

/** The hours that hits are kept by the hour, this one among them. */
export const keptFrom = (now: number): number => (Math.floor(now / HOUR_MS) - 8 * 24) * HOUR_MS
