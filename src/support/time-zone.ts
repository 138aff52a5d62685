/** The option `timeZone`: which zones a name may have, and their calendars. */
import { type Calendar, UTC } from './calendar.js'
import { DAY_MS } from './clock.js'
import { systemEnvironment } from './environment.js'
import { wrongType, wrongValue } from './options.js'
import { leadOf, offsetsOf, ZoneCalendar } from './zone-calendar.js'

/** A time zone, as SQL keeps it. */
export interface TimeZone {
  /** Its name, as Intl resolves it: `Asia/Calcutta` for `Asia/Kolkata` on Node 20. */
  readonly name: string
  /** Minutes of an hour in UTC that have not passed when an hour of the zone begins. */
  readonly leadMinutes: number
}

export const UTC_ZONE: TimeZone = { name: 'UTC', leadMinutes: 0 }

/** Time after `now` in which the minutes at which hours begin must stay the same. */
const LOOK_AHEAD_DAYS = 10 * 366
const LOOK_EVERY_DAYS = 7

const ALLOWED = 'a time zone that Intl knows, such as "Europe/Berlin", and no offset'

/**
 * Checks the option `timeZone`.
 *
 * @throws TypeError, RangeError
 */
export function timeZoneOption(value: unknown, now = systemEnvironment.clock.now()): TimeZone {
  const option = 'timeZone'
  if (typeof value !== 'string') throw wrongType(option, value, ALLOWED)
  // Newer Nodes take +05:30, older ones do not.
  const name = /^[+-]/.test(value) ? undefined : resolved(value)
  if (name === undefined) throw wrongValue(option, value, ALLOWED)
  if (name === UTC_ZONE.name) return UTC_ZONE
  const offsetAt = offsetsOf(name)
  const leadMinutes = leadOf(offsetAt(now))
  for (let days = 0; days <= LOOK_AHEAD_DAYS; days += LOOK_EVERY_DAYS) {
    if (leadOf(offsetAt(now + days * DAY_MS)) === leadMinutes) continue
    throw wrongValue(option, value, `${ALLOWED}, whose clocks are set by whole hours`)
  }
  return { name, leadMinutes }
}

function resolved(timeZone: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

/** The calendars of zones, which never change, by their zones: each keeps the days it has found. */
const calendars = new Map<string, Calendar>()

/** Returns the calendar of a zone. @throws RangeError if this Node does not know it */
export function calendarOf({ name, leadMinutes }: TimeZone): Calendar {
  if (name === UTC_ZONE.name) return UTC
  const key = `${name} ${leadMinutes}`
  const known = calendars.get(key) ?? new ZoneCalendar(name, leadMinutes)
  calendars.set(key, known)
  return known
}
