import { DatabaseError } from '../database/database.js'

/** The most callers of one process that wait for their turn at one counter. */
export const MAX_WAITING = 100_000

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * What comes while a piece of work is under way is gathered and shares the next one: however many
 * callers, one statement at a time. Each caller waits for the work that had its item in it.
 */
export class Batches<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<Result>
  readonly #fit: (items: readonly Item[]) => number
  readonly #waiting: Waiting<Item, Result>[] = []
  #running = false

  /**
   * `run` does the work for several items; `fit` says how many of those that wait, at least one,
   * may share it.
   */
  constructor(
    run: (items: readonly Item[]) => Promise<Result>,
    fit: (items: readonly Item[]) => number,
  ) {
    this.#run = run
    this.#fit = fit
  }

  /**
   * Resolves with the result of the work that took the item. @throws DatabaseError
   * `DATABASE_QUEUE_FULL`; what `run` throws
   */
  add(item: Item): Promise<Result> {
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(
        new DatabaseError(
          'DATABASE_QUEUE_FULL',
          'capacity',
          `${MAX_WAITING} increments are waiting for the database`,
        ),
      )
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (this.#running) return
      this.#running = true
      void this.#work()
    })
  }

  async #work(): Promise<void> {
    for (;;) {
      // Behind all that is ready to run: whoever calls in this tick, or again on being answered, is
      // in the batch.
      await new Promise((resolve) => process.nextTick(resolve))
      if (this.#waiting.length === 0) break
      const batch = this.#waiting.splice(0, this.#fit(this.#waiting.map(({ item }) => item)))
      if (!(await this.#try(batch))) for (const one of batch) await this.#try([one])
    }
    this.#running = false
  }

  /**
   * Settles the batch; `false`: it is to be tried one by one, since some of it does not go beyond
   * 2^53-1 and some may.
   */
  async #try(batch: readonly Waiting<Item, Result>[]): Promise<boolean> {
    try {
      const result = await this.#run(batch.map(({ item }) => item))
      for (const { resolve } of batch) resolve(result)
    } catch (error) {
      if (error instanceof RangeError && batch.length > 1) return false
      for (const { reject } of batch) reject(error)
    }
    return true
  }
}
