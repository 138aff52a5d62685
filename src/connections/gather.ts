import { DatabaseError } from '../database/database.js'

/** The most callers that wait. */
export const MAX_WAITING = 100_000

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Gathers calls that come while an earlier one is under way. They share the next one: however many
 * callers, one call at a time. Each caller waits for the call that had its item in it. An item is
 * in one call, and after a RangeError in a second one, alone.
 */
export class Gather<Item, Result> {
  readonly #what: string
  readonly #run: (items: readonly Item[]) => Promise<Result>
  readonly #fit: (items: readonly Item[]) => number
  readonly #waiting: Waiting<Item, Result>[] = []
  #running = false

  /**
   * @param what the items, for a message: `increments`
   * @param run makes one call for several items
   * @param fit how many of those that wait, at least one, may share it
   */
  constructor(
    what: string,
    run: (items: readonly Item[]) => Promise<Result>,
    fit: (items: readonly Item[]) => number,
  ) {
    this.#what = what
    this.#run = run
    this.#fit = fit
  }

  /**
   * Resolves with the result of the call that had the item in it. @throws DatabaseError
   * `DATABASE_QUEUE_FULL`; what `run` throws
   */
  add(item: Item): Promise<Result> {
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(
        new DatabaseError(
          'DATABASE_QUEUE_FULL',
          'capacity',
          `${MAX_WAITING} ${this.#what} are waiting: await them before you make more`,
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
      // After all that is ready to run, so the batch includes the calls of this tick, and those of
      // callers that have just been answered.
      await new Promise((resolve) => process.nextTick(resolve))
      if (this.#waiting.length === 0) break
      const batch = this.#waiting.splice(0, this.#fit(this.#waiting.map(({ item }) => item)))
      if (!(await this.#try(batch))) for (const one of batch) await this.#try([one])
    }
    this.#running = false
  }

  /**
   * Ends the batch. `false`: the items do not fit together, as a RangeError says, and some of
   * them may fit alone.
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
