import { type DatabaseErrorKind, DatabaseError } from '../database/database.js'
import { sleep } from '../support/clock.js'
import { type Environment, keptAlive } from '../support/environment.js'

/**
 * An increment may or may not have been counted: an answer stayed out, for longer than was waited and tried
 * again. `cause` is the CacheError or DatabaseError. Calling again may count it twice.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError'
  readonly code = 'COUNTER_OUTCOME_UNKNOWN'

  constructor(counter: string, cause: Error) {
    super(`wide-cache: counter "${counter}": the increment may or may not have been counted: ${cause.message}`, { cause })
  }
}

/** How long a database that does not answer is asked again. What is under way at the end is still waited for. */
const RETRY_MS = 10_000
const FIRST_WAIT_MS = 50
const LAST_WAIT_MS = 1_000

/** Kinds of failure that pass by themselves. */
const PASSING: readonly DatabaseErrorKind[] = ['unreachable', 'lock', 'capacity']

/**
 * `work`, which can be done again however it ended, until the database has answered or {@link RETRY_MS} are over.
 *
 * @throws DatabaseError of kind `unreachable` if the outcome of any try is unknown, whatever came after it;
 * otherwise what `work` threw
 */
export async function retried<T>(environment: Environment, work: () => Promise<T>): Promise<T> {
  const { clock, random } = environment
  const deadline = clock.elapsed() + RETRY_MS
  let unknown: DatabaseError | undefined
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LAST_WAIT_MS)) {
    try {
      return await work()
    } catch (error) {
      if (error instanceof DatabaseError && error.kind === 'unreachable') unknown ??= error
      const passing = error instanceof DatabaseError && PASSING.includes(error.kind)
      if (!passing || clock.elapsed() >= deadline) throw unknown ?? error
    }
    // The clock's timer alone would let a process end in the middle of an increment.
    await keptAlive(environment, () => sleep(clock, wait * (0.5 + random())))
  }
}
