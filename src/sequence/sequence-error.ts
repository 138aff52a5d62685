/**
 * Reason why a call of `next()` got no number. `SEQUENCE_UNANSWERED`: cache or database, or both,
 * did not answer in time. `SEQUENCE_QUEUE_FULL`: too many callers wait already.
 */
export type SequenceErrorCode = 'SEQUENCE_UNANSWERED' | 'SEQUENCE_QUEUE_FULL'

/**
 * A call of `next()` that got no number. `cause` is the last failure of the cache or the database,
 * where there was one.
 */
export class SequenceError extends Error {
  override readonly name = 'SequenceError'
  /** The reason, for programs. */
  readonly code: SequenceErrorCode

  constructor(code: SequenceErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
