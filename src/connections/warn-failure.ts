import { DatabaseError } from '../database/database.js'
import type { BurstLogger } from '../support/logger.js'

/** Conflicts in a row that are worth a line. */
const CONFLICTS = 5

/**
 * Warns of work that has failed and will be tried again. A conflict with another transaction is
 * what makes concurrent work right, so single ones are not told: the nodes of a Galera cluster have
 * them all the time. `logger.recovered()` is to be called after each success.
 */
export function warnOfFailure(
  logger: BurstLogger,
  trouble: string,
  error: unknown,
  message: string,
): void {
  if (error instanceof DatabaseError && error.kind === 'lock') {
    logger.warnLasting(trouble, CONFLICTS, message)
  } else {
    logger.warn(trouble, message)
  }
}
