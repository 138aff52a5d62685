/**
 * The calendar of a time zone, as Intl knows it. Hours begin at one minute of the hour always: that
 * of the zone's clocks. Where these were shifted by less than an hour, as in the past of many
 * zones, a day begins with the first hour that begins in it.
 */
import { Calendar } from './calendar.js'
import { DAY_MS, HOUR_MS } from './clock.js'

const MINUTE_MS = 60_000

/** Hours of the earliest and the latest beginning of a day, from its beginning in UTC on. */
const FIRST_OFFSET = -15
const LAST_OFFSET = 13

/** Days whose beginnings are kept: those of two histories of ten years. */
const MAX_DAYS = 8_000

/** Returns how far the clocks of a zone are ahead of UTC, in milliseconds. */
export type Offsets = (ms: number) => number

/** Characters of a time up to its seconds. */
const SECONDS_LENGTH = '2026-05-17T12:00:00'.length

const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/

/** @throws RangeError for a zone that Intl does not know */
export function offsetsOf(timeZone: string): Offsets {
  // Four times as fast as the parts of a time.
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  return (ms) => {
    const [, sign, hours = 0, minutes = 0, seconds = 0] = OFFSET.exec(format.format(ms)) ?? []
    const offset = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS + Number(seconds) * 1000
    return sign === '-' ? -offset : offset
  }
}

/** Returns the minutes, of an hour in UTC, that an hour of a zone has begun before it. */
export function leadOf(offset: number): number {
  return (((offset % HOUR_MS) + HOUR_MS) % HOUR_MS) / MINUTE_MS
}

export class ZoneCalendar extends Calendar {
  readonly zone: string
  readonly #offsetAt: Offsets
  readonly #leadMs: number
  /** First hours, by their days. */
  readonly #firstHours = new Map<number, number>()

  /** @param leadMinutes as {@link leadOf} returns them */
  constructor(zone: string, leadMinutes: number) {
    super()
    this.zone = zone
    this.#offsetAt = offsetsOf(zone)
    this.#leadMs = leadMinutes * MINUTE_MS
  }

  hourOf(ms: number): number {
    return Math.floor((ms + this.#leadMs) / HOUR_MS)
  }

  startOfHour(hour: number): number {
    return hour * HOUR_MS - this.#leadMs
  }

  firstHour(day: number): number {
    const known = this.#firstHours.get(day)
    if (known !== undefined) return known
    if (this.#firstHours.size >= MAX_DAYS) this.#firstHours.clear()
    const found = this.#findFirstHour(day)
    this.#firstHours.set(day, found)
    return found
  }

  textOf(ms: number): string {
    const minutes = Math.trunc(this.#offsetAt(ms) / MINUTE_MS)
    const local = new Date(ms + minutes * MINUTE_MS).toISOString().slice(0, SECONDS_LENGTH)
    const [sign, all] = [minutes < 0 ? '-' : '+', Math.abs(minutes)]
    return `${local}${sign}${twoDigits(Math.floor(all / 60))}:${twoDigits(all % 60)}`
  }

  /** Of an hour that begins while the clocks are set, the later time counts. */
  #dateOf(hour: number): number {
    const ms = this.startOfHour(hour)
    return Math.floor((ms + this.#offsetAt(ms)) / DAY_MS)
  }

  /** Finds the first hour that begins in a day or later. */
  #findFirstHour(day: number): number {
    const noon = day * DAY_MS
    let [before, found] = [this.hourOf(noon) + FIRST_OFFSET, this.hourOf(noon) + LAST_OFFSET]
    while (found - before > 1) {
      const middle = Math.floor((before + found) / 2)
      if (this.#dateOf(middle) < day) before = middle
      else found = middle
    }
    return found
  }
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}
