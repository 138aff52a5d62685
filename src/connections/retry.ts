/**
 * Waits for a database that does not answer: retries for ten seconds, and keeps track of whether
 * any try may have been carried out.
 */
import { type DatabaseErrorCategory, DatabaseError } from '../database/database.js'
import { sleep } from '../support/clock.js'
import type { Environment } from '../support/environment.js'
import { answerWithin } from '../support/within.js'

/** Time for which a database that does not answer is waited for and retried. */
const ANSWER_MS = 10_000
const FIRST_WAIT_MS = 50
const LAST_WAIT_MS = 1_000

/** Categories of failure that pass by themselves. */
const PASSING: readonly DatabaseErrorCategory[] = ['unreachable', 'lock', 'capacity']

/**
 * Error codes that mean that there was no connection, so nothing was sent. For databases that do
 * not say so themselves.
 */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ER_HOST_IS_BLOCKED'])

function isUnsent(error: unknown): boolean {
  return error instanceof DatabaseError && (error.unsent || NOT_CONNECTED.has(error.code))
}

/**
 * Tells whether a statement or transaction that failed may have been, or may yet be, carried out.
 */
export function mayBeDone(error: unknown): error is DatabaseError {
  return (
    error instanceof DatabaseError &&
    (error.category === 'unreachable' || error.code === 'DATABASE_CLOSED') &&
    !isUnsent(error)
  )
}

/**
 * Resolves with the result of `work`, but waits {@link ANSWER_MS} at most, as {@link answerWithin}.
 *
 * @throws what `timedOut` returns if it takes longer; by default a DatabaseError of category
 * `unreachable`
 */
export function answered<T>(
  { clock }: Environment,
  work: () => Promise<T>,
  timedOut: () => unknown = silent,
): Promise<T> {
  return answerWithin(clock, ANSWER_MS, work, timedOut)
}

/**
 * Retries `work` until it succeeds or fails for good, for {@link ANSWER_MS} at most: at most 24
 * tries. `work` must be safe to repeat, however it ended. A try that is still under way at the end
 * goes on. After a try without a connection, the next one begins only when `connect` has resolved,
 * which changes nothing. So an outcome stays known however long connecting takes.
 *
 * @throws DatabaseError of category `unreachable` if the outcome of any try is unknown, whatever
 * came after it; otherwise what `work` threw
 */
export async function retried<T>(
  environment: Environment,
  connect: () => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  const { clock, random } = environment
  let unknown: DatabaseError | undefined
  let failure: unknown
  let trying = false
  let over = false
  const tries = async (): Promise<T> => {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LAST_WAIT_MS)) {
      try {
        if (isUnsent(failure)) await connect()
        if (over) throw failure
        trying = true
        return await work()
      } catch (error) {
        if (trying || isUnsent(error)) failure = error
        if (trying && mayBeDone(error)) unknown ??= error
        if (!(error instanceof DatabaseError && PASSING.includes(error.category))) {
          throw unknown ?? error
        }
      } finally {
        trying = false
      }
      await sleep(clock, wait * (0.5 + random()))
      if (over) throw failure
    }
  }
  try {
    return await answered(environment, tries, () => unknown ?? (trying ? silent() : failure))
  } finally {
    over = true
  }
}

function silent(): DatabaseError {
  return new DatabaseError(
    'ETIMEDOUT',
    'unreachable',
    `The database did not answer within ${ANSWER_MS / 1000} s. Check that it runs, and the network`,
  )
}
