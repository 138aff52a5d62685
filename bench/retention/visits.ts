/** Visits of a busy site whose days pass quickly. */
import type { Visit } from '../../src/activity/visit.js'
import { visitAt, visitorsOf } from '../drain/visits.js'

/** Seconds of the site in one second of the run: its hour is a minute, and its day is 24. */
export const FAST = 60

/** A day of 24 minutes has some ten visits of each. */
export const VISITORS = 200_000

const visitors = visitorsOf(VISITORS)

/** `count` visits from `from` until `to`, in milliseconds since the Unix epoch. */
export function visitsBetween(from: number, to: number, count: number): Visit[] {
  return Array.from({ length: count }, (_, i) => ({
    time: Math.floor(from + (i * (to - from)) / count),
    visitor: visitors[Math.floor(Math.random() * VISITORS)]!,
    page: visitAt(0, i).page,
    dimensions: undefined,
  }))
}
