/** The calendar of an object that records views: that of SQL, once it has one. */
import type { Queryable } from '../database/database.js'
import type { Calendar, CalendarSource } from '../support/calendar.js'
import type { BurstLogger } from '../support/logger.js'
import { calendarOf, type TimeZone, UTC_ZONE } from '../support/time-zone.js'
import { readNameSettings } from '../wide-cache/ledger/name-settings.js'

interface OwnCalendarParts {
  readonly database: Queryable
  /** The name of the grid, in whose row SQL has the zone. */
  readonly gridName: string
  /** The zone that this process has been given. */
  readonly timeZone: TimeZone | undefined
  readonly logger: BurstLogger
}

export class OwnCalendar implements CalendarSource {
  readonly #parts: OwnCalendarParts
  #current: Calendar
  #isKnown = false

  constructor(parts: OwnCalendarParts) {
    this.#parts = parts
    this.#current = calendarOf(parts.timeZone ?? UTC_ZONE)
  }

  /** The calendar, as far as this process knows. */
  get current(): Calendar {
    return this.#current
  }

  /**
   * Returns what `check` makes of the calendar. What is wrong in any calendar is refused before SQL
   * is asked.
   */
  async checked<T>(check: (calendar: Calendar) => T): Promise<T> {
    if (!this.#isKnown) check(this.#current)
    return check(await this.read())
  }

  /** Returns the calendar, for which SQL is asked until a process has recorded views. */
  async read(): Promise<Calendar> {
    if (this.#isKnown) return this.#current
    const { database, gridName, timeZone, logger } = this.#parts
    const recorded = (await readNameSettings(database, gridName))?.timeZone
    if (!recorded) return this.#current
    this.#current = calendarOf(recorded)
    this.#isKnown = true
    if (timeZone && timeZone.name !== recorded.name) {
      logger.warnOnce(
        'time zone',
        `wide-cache: the days of "${gridName}" are those of ${recorded.name}, as the first ` +
          `process that recorded it had them, and not of ${timeZone.name} as this one has; ` +
          'give all processes the same option "timeZone", or this one another name',
      )
    }
    return this.#current
  }
}
