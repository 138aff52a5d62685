import { DatabaseError } from '../database/database.js'
import type { BurstLogger } from '../support/logger.js'

/** Time for which conflicts are not logged, from when work that has not succeeded yet began. */
const CONFLICTS_MS = 10_000

/**
 * Warns of work that has failed and will be retried. Conflicts with another transaction are not
 * logged in the first ten seconds, because they are normal in concurrent work: the nodes of a
 * Galera cluster have them all the time. A wait for a lock ends after 20 s, so a lock that is held
 * for long is logged by then. The caller calls `logger.recovered()` after each success.
 *
 * @param beganAt when the work began, by `clock.elapsed()`
 */
export function warnOfFailure(
  logger: BurstLogger,
  trouble: string,
  error: unknown,
  message: string,
  beganAt: number,
): void {
  if (error instanceof DatabaseError && error.category === 'lock') {
    logger.warnLasting(trouble, beganAt, CONFLICTS_MS, message)
  } else {
    logger.warn(trouble, message)
  }
}
