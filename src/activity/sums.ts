import { fitText } from './text.js'
import { MAX_VALUE_BYTES, type Visit } from './visit.js'
import { DAY_MS, HOUR_MS, HOURS_A_DAY } from './books.js'

/** A visitor of a day. */
export interface SeenVisitor {
  readonly visitor: Buffer
  /** The newest second, since 1970. */
  second: number
  /** The hours of the day: bit 0 is the first. */
  hours: number
}

/** The dimension that every visit has. */
export const PAGE = 'page'

/** What `top()` calls the values that are not listed one by one. */
export const OTHER = '(other)'

type CountsByHour = Map<number, Map<string, number>>

/** Adds up what visits are to be found by: the visitors of each day, the values of each hour. */
export class Sums {
  readonly #visitors = new Map<number, Map<string, SeenVisitor>>()
  readonly #values = new Map<string, CountsByHour>()

  /** Visits come in the order of their times. */
  add({ visitor, page, dimensions }: Visit, time: number): void {
    const hour = Math.floor(time / HOUR_MS)
    if (visitor) this.#see(visitor, time, hour)
    this.#count(PAGE, hour, page)
    if (!dimensions) return
    for (let at = 0; at < dimensions.length; at += 2) {
      this.#count(dimensions[at]!, hour, dimensions[at + 1]!)
    }
  }

  /** Days ascending, each with its visitors ascending by their bytes. */
  *visitors(): Generator<readonly [day: number, seen: SeenVisitor]> {
    const days = [...this.#visitors].sort(([a], [b]) => a - b)
    for (const [day, visitors] of days) for (const seen of ascending(visitors)) yield [day, seen]
  }

  /** Dimensions and hours ascending, each with its values. */
  *values(): Generator<readonly [dimension: string, hour: number, value: string, views: number]> {
    for (const [dimension, hours] of [...this.#values].sort(([a], [b]) => (a < b ? -1 : 1))) {
      for (const [hour, counts] of [...hours].sort(([a], [b]) => a - b)) {
        for (const [value, views] of counts) yield [dimension, hour, value, views]
      }
    }
  }

  #see(visitor: Buffer, time: number, hour: number): void {
    const day = Math.floor(time / DAY_MS)
    let ofDay = this.#visitors.get(day)
    if (!ofDay) this.#visitors.set(day, (ofDay = new Map()))
    // In Latin-1, texts are in the order of their bytes.
    const key = visitor.toString('latin1')
    const second = Math.floor(time / 1000)
    const bit = 1 << (hour % HOURS_A_DAY)
    const seen = ofDay.get(key)
    if (!seen) ofDay.set(key, { visitor, second, hours: bit })
    else {
      seen.second = second
      seen.hours |= bit
    }
  }

  #count(dimension: string, hour: number, value: string): void {
    let hours = this.#values.get(dimension)
    if (!hours) this.#values.set(dimension, (hours = new Map()))
    let counts = hours.get(hour)
    if (!counts) hours.set(hour, (counts = new Map()))
    const fit = value === OTHER ? '' : fitText(value, MAX_VALUE_BYTES)
    counts.set(fit, (counts.get(fit) ?? 0) + 1)
  }
}

/**
 * The items in the order of their keys, sorted piece by piece: tens of thousands at once would hold
 * up the process's requests.
 */
function* ascending<T>(items: ReadonlyMap<string, T>): Generator<T> {
  const keysBy = Array.from({ length: 256 }, (): string[] => [])
  for (const key of items.keys()) keysBy[key.charCodeAt(0)]!.push(key)
  for (const keys of keysBy) for (const key of keys.sort()) yield items.get(key)!
}
