/**
 * Numbers and times in the browser's language, and in the viewer's time zone. The words beside them
 * are English, so all digits are Latin, and a date that runs from right to left is kept apart.
 */

/** @type {readonly string[] | undefined} */
const languages = globalThis.navigator?.languages
const locale = languages?.length ? [...languages] : undefined

/** @param {Intl.NumberFormatOptions} options */
export const numbersWith = (options) =>
  new Intl.NumberFormat(locale, { numberingSystem: 'latn', ...options })
/** @param {Intl.DateTimeFormatOptions} options */
export const timesWith = (options) =>
  new Intl.DateTimeFormat(locale, { numberingSystem: 'latn', ...options })

const numbers = numbersWith({})
const shortNumbers = numbersWith({ notation: 'compact' })
const percents = numbersWith({ style: 'percent' })
const changes = numbersWith({ style: 'percent', signDisplay: 'exceptZero' })

/** The time zone of the site. */
let zone = 'UTC'
/** @type {Map<string, Intl.DateTimeFormat>} */
let formats = new Map()

/** @param {string} name */
export function setZone(name) {
  if (name !== zone) formats = new Map()
  zone = name
}

export const zoneName = () => zone

/** A format of times in the zone of the site. @param {Intl.DateTimeFormatOptions} options */
function inZone(options) {
  const key = JSON.stringify(options)
  const made = formats.get(key) ?? timesWith({ timeZone: zone, ...options })
  formats.set(key, made)
  return made
}

/** From right to left, within a sentence from left to right. @param {string} text */
export const apart = (text) =>
  /[\u0590-\u08ff\u200f\ufb1d-\ufefc]/.test(text) ? `\u2068${text}\u2069` : text

/** @param {number} value */
export const number = (value) => numbers.format(value)
/** `12K`. @param {number} value */
export const shortNumber = (value) => apart(shortNumbers.format(value))
/** @param {number} share */
export const percent = (share) => percents.format(share)
/** Of a list: what is less than half a percent is not 0. @param {number} share */
export const shareText = (share) =>
  share > 0 && share < 0.005 ? `<${percents.format(0.01)}` : percents.format(share)

/** Whether a change is one: `up`, `down`, or `flat` within 2 %. @param {number} by */
export const direction = (by) => (Math.abs(by) < 0.02 ? 'flat' : by > 0 ? 'up' : 'down')
/** `+12 %`. @param {number} by */
export const signed = (by) => changes.format(by)

/** @type {Readonly<Record<string, Intl.DateTimeFormatOptions>>} */
const FORMATS = {
  time: { hour: '2-digit', minute: '2-digit' },
  timeOfZone: { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
  seconds: { timeStyle: 'medium' },
  weekday: { weekday: 'short', day: 'numeric' },
  day: { day: 'numeric', month: 'short' },
  dayOfYear: { day: 'numeric', month: 'short', year: 'numeric' },
  shortDay: { weekday: 'short', day: 'numeric', month: 'short' },
  longDay: { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' },
  days: { day: 'numeric', month: 'long', year: 'numeric' },
  month: { month: 'short' },
  monthOfYear: { month: 'short', year: 'numeric' },
  longMonth: { month: 'long', year: 'numeric' },
}

/** @param {keyof typeof FORMATS} format @param {number} time */
export const at = (format, time) => apart(inZone(FORMATS[format] ?? {}).format(time))

/**
 * A range up to, without, `to`.
 *
 * @param {keyof typeof FORMATS} format
 * @param {number} from
 * @param {number} to
 */
export const between = (format, from, to) =>
  apart(inZone(FORMATS[format] ?? {}).formatRange(from, Math.max(from, to - 1)))

/** The year of a time in the zone of the site. @param {number} time */
export const yearOf = (time) => inZone({ year: 'numeric' }).format(time)

/**
 * `1 page view`, `2 page views`.
 *
 * @param {number} count
 * @param {string} thing
 */
export function counted(count, thing) {
  return `${number(count)} ${thing}${count === 1 ? '' : 's'}`
}

/** `4 s`, `6 min`, `2 h`, `3 d`. @param {number} seconds */
export function short(seconds) {
  if (seconds < 100) return `${number(Math.round(seconds))} s`
  if (seconds < 6_000) return `${number(Math.round(seconds / 60))} min`
  if (seconds < 172_800) return `${number(Math.round(seconds / 3_600))} h`
  return `${number(Math.round(seconds / 86_400))} d`
}

/** A time span in its largest fitting unit: `10 minutes`, `90 seconds`. @param {number} seconds */
export function span(seconds) {
  if (seconds >= 3600 && seconds % 3600 === 0) return counted(seconds / 3600, 'hour')
  if (seconds >= 60 && seconds % 60 === 0) return counted(seconds / 60, 'minute')
  return counted(seconds, 'second')
}

/**
 * The name of a country, or of a language, by its code.
 *
 * @param {'region' | 'language'} type
 * @param {string} code
 */
export function nameOfCode(type, code) {
  try {
    return new Intl.DisplayNames(locale ?? 'en', { type, fallback: 'none' }).of(code) ?? code
  } catch {
    return code
  }
}
