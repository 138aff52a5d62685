/** Amounts of bytes, and rounded spans of time. */
import { counted, numbersWith } from './format.js'

const tenths = numbersWith({ maximumFractionDigits: 1 })

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1_000) return counted(bytes, 'byte')
  if (bytes < 1_000_000) return `${tenths.format(bytes / 1_000)} kB`
  return `${tenths.format(bytes / 1_000_000)} MB`
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
