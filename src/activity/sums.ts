import { normalPath } from '../page-views/path.js'
import { fitText } from './text.js'
import { MAX_VALUE_BYTES, packedPairs, unpackPair } from './packed-dimensions.js'
import type { Visit } from './visit.js'
import type { Calendar } from '../support/calendar.js'

/** A visitor of a day. */
export interface SeenVisitor {
  readonly visitor: Buffer
  /** The oldest second, since 1970. */
  readonly first: number
  /** The newest one. */
  second: number
  /** The hours of the day: bit 0 is the first. */
  hours: number
}

/**
 * The newest second of a visitor is found by an index on slices of this length. A visitor who
 * returns within a slice changes no index, which costs half as much.
 */
const SLICE_SECONDS = 300

/** The slice of a second. */
export function sliceOf(second: number): number {
  return Math.floor(second / SLICE_SECONDS)
}

/** The dimension that every visit has. */
export const PAGE = 'page'

/** Returns the value that a question is about: paths that are equal are one page. */
export function askedValue(dimension: string, value: string): string {
  return dimension === PAGE ? normalPath(value) : value
}

/** Name in `top()` of the values that are not listed one by one. */
export const OTHER = '(other)'

/** Returns the text under which a value of a dimension is stored; empty: with {@link OTHER}. */
export function storedValue(value: string): string {
  return value === OTHER ? '' : fitText(value, MAX_VALUE_BYTES)
}

/** The views of a value. */
export interface Views {
  views: number
}

/** The values of all dimensions in an hour. Each text that comes is made fit once. */
class HourCounts {
  /** By dimension, and by the value as it is stored. */
  readonly byDimension = new Map<string, Map<string, Views>>()
  readonly #ofPages = new Map<string, Views>()
  /** By packed dimensions, which many visits share, and by each packed pair. */
  readonly #ofDimensions = new Map<string, readonly Views[]>()
  readonly #ofPairs = new Map<string, Views>()

  add(page: string, packed: string | undefined): void {
    const ofPage = this.#ofPages.get(page) ?? this.#enterPage(page)
    ofPage.views++
    if (packed === undefined) return
    const counts = this.#ofDimensions.get(packed) ?? this.#enterDimensions(packed)
    for (const count of counts) count.views++
  }

  #enterPage(page: string): Views {
    const count = this.#countOf(PAGE, page)
    this.#ofPages.set(page, count)
    return count
  }

  #enterDimensions(packed: string): readonly Views[] {
    const counts = packedPairs(packed).map(
      (pair) => this.#ofPairs.get(pair) ?? this.#enterPair(pair),
    )
    this.#ofDimensions.set(packed, counts)
    return counts
  }

  #enterPair(pair: string): Views {
    const [dimension, value] = unpackPair(pair)
    const count = this.#countOf(dimension, value)
    this.#ofPairs.set(pair, count)
    return count
  }

  #countOf(dimension: string, value: string): Views {
    const fit = storedValue(value)
    let counts = this.byDimension.get(dimension)
    if (!counts) this.byDimension.set(dimension, (counts = new Map()))
    let count = counts.get(fit)
    if (!count) counts.set(fit, (count = { views: 0 }))
    return count
  }
}

type VisitorsOfDay = Map<string, SeenVisitor>

/** Adds up visits: the visitors of each day, and the values of each hour. */
export class Sums {
  readonly #calendar: Calendar
  readonly #visitors = new Map<number, VisitorsOfDay>()
  readonly #values = new Map<number, HourCounts>()
  /** The second that the last visit was in. */
  #second = -1
  #hourBit = 0
  #ofDay: VisitorsOfDay = new Map()
  #ofHour = new HourCounts()

  constructor(calendar: Calendar) {
    this.#calendar = calendar
  }

  /** Visits come in the order of their times. */
  add({ visitor, page, dimensions }: Visit, time: number): void {
    const second = Math.floor(time / 1000)
    if (second !== this.#second) this.#turnTo(second)
    if (visitor) this.#see(visitor)
    this.#ofHour.add(page, dimensions)
  }

  /** Days ascending, each with its visitors ascending by their bytes. */
  *visitors(): Generator<readonly [day: number, seen: SeenVisitor]> {
    const days = [...this.#visitors].sort(([a], [b]) => a - b)
    for (const [day, visitors] of days) for (const seen of ascending(visitors)) yield [day, seen]
  }

  /** Dimensions and hours ascending, each with its values. */
  *values(): Generator<readonly [dimension: string, hour: number, value: string, views: number]> {
    const hours = [...this.#values].sort(([a], [b]) => a - b)
    const dimensions = new Set(hours.flatMap(([, ofHour]) => [...ofHour.byDimension.keys()]))
    for (const dimension of [...dimensions].sort()) {
      for (const [hour, ofHour] of hours) {
        for (const [value, { views }] of ofHour.byDimension.get(dimension) ?? []) {
          yield [dimension, hour, value, views]
        }
      }
    }
  }

  /** The values of an hour, by dimension: `values()` yields what the caller makes of them. */
  valuesOf(hour: number): ReadonlyMap<string, Map<string, Views>> {
    return this.#values.get(hour)?.byDimension ?? new Map()
  }

  #turnTo(second: number): void {
    const hour = this.#calendar.hourOf(second * 1000)
    const day = this.#calendar.dayOfHour(hour)
    this.#second = second
    this.#hourBit = 1 << this.#calendar.placeOf(hour)
    this.#ofDay = this.#visitors.get(day) ?? new Map()
    this.#visitors.set(day, this.#ofDay)
    this.#ofHour = this.#values.get(hour) ?? new HourCounts()
    this.#values.set(hour, this.#ofHour)
  }

  #see(visitor: Buffer): void {
    // In Latin-1, texts are in the order of their bytes.
    const key = visitor.toString('latin1')
    const seen = this.#ofDay.get(key)
    const second = this.#second
    if (!seen) this.#ofDay.set(key, { visitor, first: second, second, hours: this.#hourBit })
    else {
      seen.second = this.#second
      seen.hours |= this.#hourBit
    }
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
