import { DatabaseError } from '../database/database.js'
import type { BurstLogger } from '../support/logger.js'

/** Number of conflicts in a row from which they are logged. */
const CONFLICTS = 5

/**
 * Warns of work that has failed and will be retried. Single conflicts with another transaction are
 * not logged, because they are normal in concurrent work: the nodes of a Galera cluster have them
 * all the time. The caller calls `logger.recovered()` after each success.
 */
export function warnOfFailure(
  logger: BurstLogger,
  trouble: string,
  error: unknown,
  message: string,
): void {
  if (error instanceof DatabaseError && error.category === 'lock') {
    logger.warnLasting(trouble, CONFLICTS, message)
  } else {
    logger.warn(trouble, message)
  }
}
