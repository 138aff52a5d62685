/**
 * Hours and days of a place, both counted from 1970. A day begins with an hour, and has as many as
 * the clocks there make it. All that is called an hour or a day goes through a calendar.
 */
import { DAY_MS, HOUR_MS } from './clock.js'

/** A length of time that history is divided by. */
export type Period = 'hour' | 'day'

/** Hours or days since 1970, from `from` up to, without, `to`. */
export interface PeriodRange {
  readonly from: number
  readonly to: number
}

/** Moments are milliseconds since the Unix epoch. */
export abstract class Calendar {
  /** Name of the time zone. */
  abstract readonly zone: string

  /** Returns the hour that a moment lies in. */
  abstract hourOf(ms: number): number
  /** Returns the moment at which an hour begins. */
  abstract startOfHour(hour: number): number
  /** Returns the first hour of a day. */
  abstract firstHour(day: number): number
  /** Returns a moment in ISO 8601; its first ten characters are the day. */
  abstract textOf(ms: number): string

  /** Returns the day that an hour belongs to. */
  dayOfHour(hour: number): number {
    let day = Math.floor(this.startOfHour(hour) / DAY_MS)
    while (this.firstHour(day) > hour) day--
    // A day that a country skips has no hours.
    while (this.firstHour(day + 1) <= hour) day++
    return day
  }

  /** Returns the same calendar, with other first hours of some days. */
  knowing(firstHours: ReadonlyMap<number, number>): Calendar {
    return firstHours.size === 0 ? this : new KnowingCalendar(this, firstHours)
  }

  /** Returns an hour. If it begins a day by the laws that this process knows, the one that does. */
  known(hour: number): number {
    return hour
  }

  dayOf(ms: number): number {
    return this.dayOfHour(this.hourOf(ms))
  }

  startOfDay(day: number): number {
    return this.startOfHour(this.firstHour(day))
  }

  /** Returns the hours of a day. */
  hoursOf(day: number): PeriodRange {
    return { from: this.firstHour(day), to: this.firstHour(day + 1) }
  }

  /** Returns the same time of another day, `days` later: as long after its start. */
  shifted(ms: number, days: number): number {
    const day = this.dayOf(ms)
    const since = ms - this.startOfDay(day)
    return Math.min(this.startOfDay(day + days) + since, this.startOfDay(day + days + 1))
  }

  /** Returns the place of an hour in its day; 0 is the first. */
  placeOf(hour: number): number {
    return hour - this.firstHour(this.dayOfHour(hour))
  }

  /** Returns the first day that begins with `hour` or later. */
  dayFrom(hour: number): number {
    const day = this.dayOfHour(hour)
    return this.firstHour(day) === hour ? day : day + 1
  }

  /** Returns the hour or day that a moment lies in. */
  periodOf(by: Period, ms: number): number {
    return by === 'hour' ? this.hourOf(ms) : this.dayOf(ms)
  }

  /** Returns the moment at which an hour or a day begins. */
  startOf(by: Period, period: number): number {
    return by === 'hour' ? this.startOfHour(period) : this.startOfDay(period)
  }

  /** Returns the hours or days that have a part of the time between two moments. */
  rangeOf(by: Period, from: number, to: number): PeriodRange {
    const last = this.periodOf(by, to)
    return { from: this.periodOf(by, from), to: this.startOf(by, last) < to ? last + 1 : last }
  }
}

class KnowingCalendar extends Calendar {
  readonly zone: string
  readonly #of: Calendar
  readonly #firstHours: ReadonlyMap<number, number>

  constructor(of: Calendar, firstHours: ReadonlyMap<number, number>) {
    super()
    this.zone = of.zone
    this.#of = of
    this.#firstHours = firstHours
  }

  hourOf(ms: number): number {
    return this.#of.hourOf(ms)
  }

  startOfHour(hour: number): number {
    return this.#of.startOfHour(hour)
  }

  firstHour(day: number): number {
    return this.#firstHours.get(day) ?? this.#of.firstHour(day)
  }

  override known(hour: number): number {
    const day = this.#of.dayFrom(hour)
    return this.#of.firstHour(day) === hour ? this.firstHour(day) : hour
  }

  textOf(ms: number): string {
    return this.#of.textOf(ms)
  }
}

/** A calendar that the process may not know yet. */
export interface CalendarSource {
  /** The calendar, as far as it is known. */
  readonly current: Calendar
  /** Returns the calendar, once the database has told. */
  read(): Promise<Calendar>
}

const HOURS_A_DAY = DAY_MS / HOUR_MS

class UtcCalendar extends Calendar {
  readonly zone = 'UTC'

  hourOf(ms: number): number {
    return Math.floor(ms / HOUR_MS)
  }

  startOfHour(hour: number): number {
    return hour * HOUR_MS
  }

  firstHour(day: number): number {
    return day * HOURS_A_DAY
  }

  textOf(ms: number): string {
    return new Date(ms).toISOString()
  }
}

/** The calendar of UTC. */
export const UTC: Calendar = new UtcCalendar()
