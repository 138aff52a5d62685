import { type DatabaseErrorKind, DatabaseError } from '../database/database.js'
import { sleep, type Timer } from '../support/clock.js'
import { type Environment, keptAlive } from '../support/environment.js'

/**
 * An increment may or may not have been counted: an answer stayed out, for longer than was waited
 * and tried again. `cause` is the CacheError or DatabaseError. Calling again may count it twice.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError'
  readonly code = 'COUNTER_OUTCOME_UNKNOWN'

  constructor(counter: string, cause: Error) {
    super(
      `wide-cache: counter "${counter}": the increment may or may not have been counted: ` +
        `${cause.message}`,
      { cause },
    )
  }
}

/** How long a database that does not answer is waited for, and asked again. */
const ANSWER_MS = 10_000
const FIRST_WAIT_MS = 50
const LAST_WAIT_MS = 1_000

/** Kinds of failure that pass by themselves. */
const PASSING: readonly DatabaseErrorKind[] = ['unreachable', 'lock', 'capacity']

/** There was no connection, so nothing was sent; for databases that do not say so themselves. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ER_HOST_IS_BLOCKED'])

function isUnsent(error: unknown): boolean {
  return error instanceof DatabaseError && (error.unsent || NOT_CONNECTED.has(error.code))
}

/** Whether a statement or transaction that failed so may have been, or may yet be, carried out. */
function isUnknown(error: unknown): error is DatabaseError {
  return (
    error instanceof DatabaseError &&
    (error.kind === 'unreachable' || error.code === 'DATABASE_CLOSED') &&
    !isUnsent(error)
  )
}

/** The error of an increment that failed: an OutcomeUnknownError if it may have been counted. */
export function outcomeOf(counter: string, error: unknown): unknown {
  return isUnknown(error) ? new OutcomeUnknownError(counter, error) : error
}

/**
 * What `work` comes to, unless it takes longer than {@link ANSWER_MS}. It goes on then, and its end
 * makes no difference.
 *
 * @throws what `late` returns then; DatabaseError of kind `unreachable` where it is not given
 */
export async function answered<T>(
  environment: Environment,
  work: () => Promise<T>,
  late: () => unknown = silent,
): Promise<T> {
  let timer: Timer | undefined
  const silence = new Promise<never>((_, reject) => {
    timer = environment.clock.after(ANSWER_MS, () => reject(late()))
  })
  try {
    // The clock's timer alone would let a process end in the middle of an increment.
    return await keptAlive(environment, () => Promise.race([work(), silence]))
  } finally {
    timer?.cancel()
  }
}

/**
 * `work`, which can be done again however it ended, until the database has answered or
 * {@link ANSWER_MS} are over. A try that is still under way then goes on behind. Where there was no
 * connection, the next try is not begun before `connect`, which changes nothing, has resolved: so
 * an outcome stays known however long connecting takes.
 *
 * @throws DatabaseError of kind `unreachable` if the outcome of any try is unknown, whatever came
 * after it; otherwise what `work` threw
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
        if (trying && isUnknown(error)) unknown ??= error
        if (!(error instanceof DatabaseError && PASSING.includes(error.kind))) {
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
    `The database did not answer within ${ANSWER_MS / 1000} s`,
  )
}
