/** When collectors recount hours, and what they do with the results. */
import type { Database, Queryable } from '../database/database.js'
import { execute } from '../database/sql.js'
import type { Calendar } from '../support/calendar.js'
import type { BurstLogger } from '../support/logger.js'
import { readCalendar } from './days.js'
import { recountHour } from './hour-recount.js'

/** Time from one recount of an hour to the next: the hours of a day take 24 minutes. */
const HOUR_EVERY_MS = 60_000

/**
 * The recounts of one collector. They walk through all hours that have ended and have rows, the
 * newest one first.
 */
export class Recounts {
  readonly #name: string
  readonly #logger: BurstLogger
  /** The hour that was recounted last. */
  #hour = Infinity
  /** The minute in which the last recount began. */
  #minute: number | undefined
  /** One that has more pieces. */
  #current: ReturnType<typeof recountHour> | undefined

  constructor(parts: { name: string; logger: BurstLogger }) {
    this.#name = parts.name
    this.#logger = parts.logger
  }

  /** Recounts a piece of an hour, and begins a new hour once a minute. */
  async run(database: Database, now: number): Promise<void> {
    const minute = Math.floor(now / HOUR_EVERY_MS)
    if (!this.#current && minute !== this.#minute) {
      this.#minute = minute
      const calendar = await readCalendar(database, this.#name)
      const hour = await this.#nextHour(database, calendar.hourOf(now), calendar)
      if (hour === undefined) return
      this.#hour = hour
      this.#current = recountHour(database, this.#name, hour)
    }
    const { done, value } = (await this.#current?.next()) ?? {}
    if (!done) return
    this.#current = undefined
    if (value !== undefined) await this.#enter(database, value)
  }

  /** The newest hour with visits that is older than the last one, or else than `end`. */
  async #nextHour(
    queryable: Queryable,
    end: number,
    calendar: Calendar,
  ): Promise<number | undefined> {
    for (const before of new Set([Math.min(this.#hour, end), end])) {
      const { rows } = await execute(queryable)`SELECT MAX(second) AS second
        FROM activity_seconds WHERE name = ${this.#name}
        AND second < ${calendar.startOfHour(before) / 1000}`
      const second = rows[0]?.['second'] ?? null
      if (second !== null) return calendar.hourOf(Number(second) * 1000)
    }
    return undefined
  }

  /**
   * Enters what a recount has found, if the one before has not. Logs a difference: of several
   * collectors only one.
   */
  async #enter(database: Database, found: string): Promise<void> {
    const hour = this.#hour
    const { affectedRows } = await execute(database)`UPDATE activity_hours SET recounted = ${found}
      WHERE name = ${this.#name} AND hour = ${hour} AND (recounted IS NULL
      OR recounted <> ${found})`
    if (affectedRows === 0 || found === '') return
    const calendar = await readCalendar(database, this.#name)
    this.#logger.error(
      `wide-cache: rows and sums of "${this.#name}" differ: of the hour that began at ` +
        `${calendar.textOf(calendar.startOfHour(hour))}, a recount found ${found}; find out ` +
        'what else has changed the tables, or report a bug; "wide-cache certificate" has the ' +
        'last result of each hour',
    )
  }
}
