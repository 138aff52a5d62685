import { mayBeDone } from '../connections/retry.js'

/**
 * An increment may or may not have been counted: no answer came, though the package waited for it
 * and retried. `cause` is the CacheError or DatabaseError. Calling again may count it twice.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError'
  /** Stable code of the error, for programs. */
  readonly code = 'COUNTER_OUTCOME_UNKNOWN'

  constructor(counter: string, cause: Error) {
    super(
      `wide-cache: counter "${counter}": the increment may or may not have been counted: ` +
        `${cause.message}`,
      { cause },
    )
  }
}

/** The error of an increment that failed: an OutcomeUnknownError if it may have been counted. */
export function outcomeOf(counter: string, error: unknown): unknown {
  return mayBeDone(error) ? new OutcomeUnknownError(counter, error) : error
}
