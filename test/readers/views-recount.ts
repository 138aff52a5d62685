/** The page views of one measure as they were recorded, and the figures that follow from them. */
import { packedPairs, unpackPair } from '../../src/activity/packed-dimensions.js'
import type { Visit } from '../../src/activity/visit.js'
import type { Period } from '../../src/support/calendar.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'

const PERIOD_MS = { hour: HOUR_MS, day: DAY_MS } as const

export const VANISHED_SECONDS = 3_600
/** Days that values are kept by the hour; the removal leaves one more. */
export const HISTORY_DAYS = 1
export const OTHER = '(other)'

interface Counted {
  readonly time: number
  readonly isLate: boolean
  readonly visitor: string | undefined
  /** By dimension. */
  readonly values: Map<string, string>
}

export class ViewsRecount {
  readonly #views: Counted[] = []
  #openFrom = 0
  #keptFrom = 0

  add(visits: readonly Visit[], now: number): void {
    for (const { time, visitor, page, dimensions = '' } of visits) {
      const sooner = Math.min(time, now)
      this.#views.push({
        time: Math.max(sooner, this.#openFrom),
        isLate: sooner < this.#openFrom,
        visitor: visitor?.toString('hex'),
        values: new Map([['page', page], ...packedPairs(dimensions).map(unpackPair)]),
      })
    }
  }

  /** A collector closes the days that are over, and removes old values. */
  collect(now: number): void {
    if (this.#views.length === 0) return
    const over = Math.floor((now - VANISHED_SECONDS * 1000) / DAY_MS) * DAY_MS
    this.#openFrom = Math.max(this.#openFrom, over)
    const kept = Math.floor(now / HOUR_MS) * HOUR_MS - (HISTORY_DAYS + 1) * DAY_MS
    this.#keptFrom = Math.max(this.#keptFrom, Math.min(kept, this.#openFrom))
  }

  removeValue(dimension: string, value: string): void {
    for (const { values } of this.#views) {
      if (values.get(dimension) === value) values.set(dimension, OTHER)
    }
  }

  get all(): number {
    return this.#views.length
  }

  get openFrom(): number {
    return this.#openFrom
  }

  /** The first day with views. */
  get firstDay(): number | undefined {
    const times = this.#views.map(({ time }) => time)
    return times.length === 0 ? undefined : Math.floor(Math.min(...times) / DAY_MS)
  }

  views(from: number, to: number): number {
    return this.#of(from, to).length
  }

  late(from: number, to: number): number {
    return this.#of(from, to).filter(({ isLate }) => isLate).length
  }

  /** Visitors of two days are two. */
  visitors(from: number, to: number): number {
    return new Set(
      this.#of(from, to).flatMap(({ visitor, time }) =>
        visitor === undefined ? [] : `${Math.floor(time / DAY_MS)} ${visitor}`,
      ),
    ).size
  }

  /** The views of each value; `null`: those without one. */
  values(dimension: string, from: number, to: number): Map<string | null, number> {
    const counts = new Map<string | null, number>()
    for (const { values } of this.#of(from, to)) {
      const value = values.get(dimension) ?? null
      counts.set(value, (counts.get(value) ?? 0) + 1)
    }
    return counts
  }

  /** The views of a value in a period; `null`: not known. */
  valueIn(dimension: string, value: string, by: Period, start: number): number | null {
    const counts = this.values(dimension, start, start + PERIOD_MS[by])
    if (by === 'hour' && start < this.#keptFrom && counts.size > 0) return null
    if (by === 'day' && start >= this.#openFrom) {
      const hours = Array.from({ length: 24 }, (_, hour) =>
        this.valueIn(dimension, value, 'hour', start + hour * HOUR_MS),
      )
      return hours.includes(null) ? null : hours.reduce<number>((sum, n) => sum + (n ?? 0), 0)
    }
    return counts.get(value) ?? (counts.has(OTHER) ? null : 0)
  }

  #of(from: number, to: number): Counted[] {
    return this.#views.filter(({ time }) => time >= from && time < to)
  }
}
