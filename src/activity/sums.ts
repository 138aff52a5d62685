import { fitText } from './text.js'
import { MAX_VALUE_BYTES, type Visit } from './visit.js'
import { HOURS_A_DAY } from './books.js'
import { HOUR_MS } from '../support/clock.js'

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

/** The values of a dimension in an hour. */
class Counts {
  /** By the value as it is stored. */
  readonly #counts = new Map<string, { views: number }>()
  /** The same by the value as it has come, so that each is made fit once. */
  readonly #asTheyCame = new Map<string, { views: number }>()

  add(value: string): void {
    const count = this.#asTheyCame.get(value) ?? this.#enter(value)
    count.views++
  }

  *[Symbol.iterator](): Generator<readonly [value: string, views: number]> {
    for (const [value, { views }] of this.#counts) yield [value, views]
  }

  #enter(value: string): { views: number } {
    const fit = value === OTHER ? '' : fitText(value, MAX_VALUE_BYTES)
    const count = this.#counts.get(fit) ?? { views: 0 }
    this.#counts.set(fit, count)
    this.#asTheyCame.set(value, count)
    return count
  }
}

type VisitorsOfDay = Map<string, SeenVisitor>
type CountsByDimension = Map<string, Counts>

/** Adds up what visits are to be found by: the visitors of each day, the values of each hour. */
export class Sums {
  readonly #visitors = new Map<number, VisitorsOfDay>()
  readonly #values = new Map<number, CountsByDimension>()
  /** Of the second that the last visit was in. */
  #second = -1
  #hourBit = 0
  #ofDay: VisitorsOfDay = new Map()
  #ofHour: CountsByDimension = new Map()

  /** Visits come in the order of their times. */
  add({ visitor, page, dimensions }: Visit, time: number): void {
    const second = Math.floor(time / 1000)
    if (second !== this.#second) this.#turnTo(second)
    if (visitor) this.#see(visitor)
    this.#count(PAGE, page)
    if (!dimensions) return
    for (let at = 0; at < dimensions.length; at += 2) {
      this.#count(dimensions[at]!, dimensions[at + 1]!)
    }
  }

  /** Days ascending, each with its visitors ascending by their bytes. */
  *visitors(): Generator<readonly [day: number, seen: SeenVisitor]> {
    const days = [...this.#visitors].sort(([a], [b]) => a - b)
    for (const [day, visitors] of days) for (const seen of ascending(visitors)) yield [day, seen]
  }

  /** Dimensions and hours ascending, each with its values. */
  *values(): Generator<readonly [dimension: string, hour: number, value: string, views: number]> {
    const hours = [...this.#values].sort(([a], [b]) => a - b)
    const dimensions = new Set(hours.flatMap(([, ofHour]) => [...ofHour.keys()]))
    for (const dimension of [...dimensions].sort()) {
      for (const [hour, ofHour] of hours) {
        for (const [value, views] of ofHour.get(dimension) ?? []) {
          yield [dimension, hour, value, views]
        }
      }
    }
  }

  #turnTo(second: number): void {
    const hour = Math.floor((second * 1000) / HOUR_MS)
    const day = Math.floor(hour / HOURS_A_DAY)
    this.#second = second
    this.#hourBit = 1 << (hour % HOURS_A_DAY)
    this.#ofDay = this.#visitors.get(day) ?? new Map()
    this.#visitors.set(day, this.#ofDay)
    this.#ofHour = this.#values.get(hour) ?? new Map()
    this.#values.set(hour, this.#ofHour)
  }

  #see(visitor: Buffer): void {
    // In Latin-1, texts are in the order of their bytes.
    const key = visitor.toString('latin1')
    const seen = this.#ofDay.get(key)
    if (!seen) this.#ofDay.set(key, { visitor, second: this.#second, hours: this.#hourBit })
    else {
      seen.second = this.#second
      seen.hours |= this.#hourBit
    }
  }

  #count(dimension: string, value: string): void {
    let counts = this.#ofHour.get(dimension)
    if (!counts) this.#ofHour.set(dimension, (counts = new Counts()))
    counts.add(value)
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
