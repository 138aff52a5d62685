/**
 * Numbers and times in the browser's language, and in the viewer's time zone. The words beside them
 * are English, so all digits are Latin, and a date that runs from right to left is kept apart.
 */

/** @type {readonly string[] | undefined} */
const languages = globalThis.navigator?.languages
const locale = languages?.length ? [...languages] : undefined

/** @param {Intl.NumberFormatOptions} options */
const numbersWith = (options) =>
  new Intl.NumberFormat(locale, { numberingSystem: 'latn', ...options })
/** @param {Intl.DateTimeFormatOptions} options */
const timesWith = (options) =>
  new Intl.DateTimeFormat(locale, { numberingSystem: 'latn', ...options })

const numbers = numbersWith({})
const shortNumbers = numbersWith({ notation: 'compact' })
const tenths = numbersWith({ maximumFractionDigits: 1 })
const percents = numbersWith({ style: 'percent' })
const changes = numbersWith({ style: 'percent', signDisplay: 'exceptZero' })
const ranges = timesWith({ day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })
const times = timesWith({ timeStyle: 'medium' })
const dates = timesWith({ dateStyle: 'medium', timeStyle: 'medium' })
const minutes = timesWith({ hour: '2-digit', minute: '2-digit' })
const hours = timesWith({ weekday: 'short', hour: '2-digit', minute: '2-digit' })
const utcDays = timesWith({ weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' })
const shortUtcDays = timesWith({ day: 'numeric', month: 'numeric', timeZone: 'UTC' })

/** From right to left, within a sentence from left to right. @param {string} text */
const apart = (text) =>
  /[\u0590-\u08ff\u200f\ufb1d-\ufefc]/.test(text) ? `\u2068${text}\u2069` : text

/** @param {number} value */
export const number = (value) => numbers.format(value)
/** `12K`. @param {number} value */
export const shortNumber = (value) => apart(shortNumbers.format(value))
/** @param {number} share */
export const percent = (share) => percents.format(share)

/**
 * `+12 %`; `new` where there was nothing, and nothing where that is not known.
 *
 * @param {number} now
 * @param {number} [then]
 */
export function change(now, then) {
  if (then === undefined) return ''
  return then === 0 ? 'new' : changes.format(now / then - 1)
}

/** A day as times in UTC are, of whatever zone it is. @param {string} start it, or a time of it */
export const dayOf = (start) => Date.parse(start.slice(0, '2026-05-17'.length))
/** @param {string} day */
export const dayAfter = (day) => new Date(dayOf(day) + 86_400_000).toISOString().slice(0, 10)
/** Two days, such as `2026-05-17`, and those between. @param {string} first @param {string} last */
export const dayRange = (first, last) => apart(ranges.formatRange(dayOf(first), dayOf(last)))

/** With seconds. @param {number | Date} time */
export const timeOfDay = (time) => apart(times.format(time))
/** With seconds, and the date unless it is today's. @param {number} time */
export const moment = (time) => apart((isToday(time) ? times : dates).format(time))
/** @param {number} time */
const isToday = (time) => new Date(time).toDateString() === new Date().toDateString()
/** @param {number | Date} time */
export const minuteOfDay = (time) => apart(minutes.format(time))
/** With the day of the week. @param {number | Date} time */
export const hourOfWeek = (time) => apart(hours.format(time))
/** @param {number | Date} time */
export const utcDay = (time) => apart(utcDays.format(time))
/** @param {number | Date} time */
export const shortUtcDay = (time) => apart(shortUtcDays.format(time))

/** The name of the viewer's time zone. */
export const timeZone = new Intl.DateTimeFormat(locale).resolvedOptions().timeZone

/**
 * `1 page view`, `2 page views`.
 *
 * @param {number} count
 * @param {string} thing
 */
export function counted(count, thing) {
  return `${number(count)} ${thing}${count === 1 ? '' : 's'}`
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1_000) return counted(bytes, 'byte')
  if (bytes < 1_000_000) return `${tenths.format(bytes / 1_000)} kB`
  return `${tenths.format(bytes / 1_000_000)} MB`
}

/** A time span in its largest fitting unit: `10 minutes`, `90 seconds`. @param {number} seconds */
export function span(seconds) {
  if (seconds >= 3600 && seconds % 3600 === 0) return counted(seconds / 3600, 'hour')
  if (seconds >= 60 && seconds % 60 === 0) return counted(seconds / 60, 'minute')
  return counted(seconds, 'second')
}

/**
 * A time span that changes, rounded: `8 seconds`, `3 minutes`, `2 days`.
 *
 * @param {number} seconds
 */
export function about(seconds) {
  if (seconds < 120) return counted(Math.round(seconds), 'second')
  if (seconds < 7_200) return counted(Math.round(seconds / 60), 'minute')
  if (seconds < 172_800) return counted(Math.round(seconds / 3_600), 'hour')
  return counted(Math.round(seconds / 86_400), 'day')
}

/** The country's name of a code of two letters. @param {string} code */
export function country(code) {
  try {
    const names = new Intl.DisplayNames(locale ?? 'en', { type: 'region', fallback: 'none' })
    return names.of(code) ?? code
  } catch {
    return code
  }
}
