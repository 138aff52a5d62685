/** A mutex: one connection, many users; each has it to itself, in the order of asking. */
import { DatabaseError } from './database.js'

/** The most users that wait. */
export const QUEUE_LIMIT = 1_000
/** Longest wait of a user. */
export const WAIT_TIMEOUT_MS = 60_000

export class Mutex {
  readonly #waiting = new Set<() => void>()
  #taken = false

  /** Runs `work` when all that came before have ended. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#acquire()
    try {
      return await work()
    } finally {
      this.#release()
    }
  }

  #acquire(): Promise<void> {
    if (!this.#taken) {
      this.#taken = true
      return Promise.resolve()
    }
    if (this.#waiting.size >= QUEUE_LIMIT) {
      return Promise.reject(
        full(`${QUEUE_LIMIT} statements and transactions are waiting for the database: await them`),
      )
    }
    return new Promise((resolve, reject) => {
      const called = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(called)
        reject(
          full(
            `The database was not free within ${WAIT_TIMEOUT_MS / 1000} s. ` +
              'In a transaction, use its tx, ' +
              'not the database: the database waits for the transaction to end',
          ),
        )
      }, WAIT_TIMEOUT_MS)
      this.#waiting.add(called)
    })
  }

  #release(): void {
    const [next] = this.#waiting
    if (!next) {
      this.#taken = false
      return
    }
    this.#waiting.delete(next)
    next()
  }
}

function full(message: string): DatabaseError {
  return new DatabaseError('DATABASE_QUEUE_FULL', 'capacity', message)
}
