/**
 * One sentence for people who look at the figures: what is wrong, and what to do. Causes come
 * before what follows from them, and the sentence stays the same as long as its cause does.
 */
import type { Vitals } from './health.js'

/** Time for which a cache server counts as failing: it is asked more often than this. */
const CACHE_MS = 10_000

/**
 * Time without an answer after which the database counts as away. One that is read-only still
 * answers the readers of figures within this time.
 */
const DATABASE_MS = 3_000

const REFUSES = 'see whether it is read-only, full or locked; the log has the error.'

/** Returns the sentence; `undefined`: nothing is wrong. */
export function adviceOf(vitals: Vitals): string | undefined {
  const { writer, cacheErrors, databaseErrors, directSeconds } = vitals
  const servers = cacheErrors.failedWithin(CACHE_MS)
  const isDatabaseAway = (databaseErrors.failingMs ?? 0) >= DATABASE_MS
  const [s, them] = servers.length === 1 ? ['', 'it'] : ['s', 'them']
  const cache = `the cache server${s} ${servers.join(', ')}`
  if (isDatabaseAway && servers.length > 0) {
    return (
      `The database and ${cache} do not answer: start them, or see why this process cannot reach ` +
      'them; it holds new visits in its memory meanwhile.'
    )
  }
  if (isDatabaseAway) {
    return (
      'The database does not answer: start it, or see why this process cannot reach it; new ' +
      'visits are held meanwhile.'
    )
  }
  if (vitals.drainsFailingMs !== undefined) {
    return `The database does not take visits from the collector: ${REFUSES}`
  }
  if (writer.unconfirmedMs > directSeconds * 1000) {
    return `The database does not take visits from this process: ${REFUSES}`
  }
  if (servers.length > 0) {
    return (
      `T${cache.slice(1)} failed: start ${them}, or see in the log why this process cannot use ` +
      `${them}; new visits go to the database directly meanwhile.`
    )
  }
  if ((vitals.lagMs ?? 0) > directSeconds * 1000) {
    return 'No collector keeps up: run one, or see in its log what stops it.'
  }
  if (vitals.clockTrouble !== undefined) {
    return `T${vitals.clockTrouble.slice(1)}: correct the wrong clock.`
  }
  return undefined
}
