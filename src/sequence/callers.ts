/**
 * Callers that wait for a number, in the order of their calls. Each is answered once, in that
 * order, or rejected after {@link PATIENCE_MS}, whatever cache and database do. No more than
 * {@link MAX_WAITING} wait.
 */
import type { Clock, Timer } from '../support/clock.js'
import { ClosedError } from '../support/closed-error.js'
import { SequenceError } from './sequence-error.js'

/**
 * Time for which a call waits for a cache and a database that fail, in ms. It is longer than the
 * cache may be silent before numbers come from SQL alone.
 */
export const PATIENCE_MS = 10_000
export const MAX_WAITING = 100_000
/**
 * Bounds of the number of callers that share one operation. Within them, it is the size of a block.
 * A lost reply skips the numbers of one operation at most.
 */
const LEAST_BATCH = 100
const MOST_BATCH = 1_000

export interface Caller {
  readonly resolve: (number: number) => void
  readonly reject: (error: unknown) => void
  readonly deadline: number
  rejected: boolean
}

export class Callers {
  readonly #name: string
  readonly #clock: Clock
  readonly #maxBatch: number
  #queue: Caller[] = []
  #timer: Timer | undefined
  /** The last failure, for the error of callers that have waited too long. */
  failure: unknown

  constructor(name: string, block: number, clock: Clock) {
    this.#maxBatch = Math.min(Math.max(block, LEAST_BATCH), MOST_BATCH)
    this.#name = name
    this.#clock = clock
  }

  join(): Promise<number> {
    if (this.#queue.length >= MAX_WAITING) {
      const message =
        `wide-cache: ${MAX_WAITING} callers wait for a number of sequence "${this.#name}": ` +
        'await earlier calls, or raise the option "block"'
      return Promise.reject(new SequenceError('SEQUENCE_QUEUE_FULL', message))
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({
        resolve,
        reject,
        deadline: this.#clock.elapsed() + PATIENCE_MS,
        rejected: false,
      })
      this.#timer ??= this.#clock.after(PATIENCE_MS, () => this.#look())
    })
  }

  /**
   * Tells whether any caller waits. Removes the callers at the head of the queue that have been
   * rejected, so it must not be called while a batch is out.
   */
  waiting(): boolean {
    const patient = this.#queue.findIndex(({ rejected }) => !rejected)
    if (patient === -1) this.#queue = []
    else if (patient > 0) this.#queue.splice(0, patient)
    return patient !== -1
  }

  /** Returns the callers that are next. They stay in the queue until they are answered. */
  batch(): readonly Caller[] {
    return this.#queue.slice(0, this.#maxBatch)
  }

  /**
   * Gives the numbers from `first` on to the first `count` callers of the batch. No numbers are
   * left for the others.
   */
  answer(batch: readonly Caller[], first: number, count: number): void {
    this.#queue.splice(0, batch.length)
    for (const [i, caller] of batch.entries()) {
      if (i < count) caller.resolve(first + i)
      else {
        caller.reject(
          new RangeError(
            `wide-cache: sequence "${this.#name}" has reached its last number, ` +
              `${Number.MAX_SAFE_INTEGER}`,
          ),
        )
      }
    }
  }

  rejectAll(error: unknown): void {
    const queue = this.#queue
    this.#queue = []
    for (const caller of queue) caller.reject(error)
  }

  close(): void {
    this.#timer?.cancel()
    this.rejectAll(new ClosedError('Sequence', this.#name))
  }

  #look(): void {
    const now = this.#clock.elapsed()
    this.#timer = undefined
    for (const caller of this.#queue) {
      if (caller.rejected) continue
      if (caller.deadline > now) {
        this.#timer = this.#clock.after(caller.deadline - now, () => this.#look())
        return
      }
      caller.rejected = true
      caller.reject(this.#unanswered())
    }
  }

  #unanswered(): SequenceError {
    const why = this.failure instanceof Error ? `: ${this.failure.message}` : ''
    const message =
      `wide-cache: sequence "${this.#name}" got no number within ` + `${PATIENCE_MS / 1000} s${why}`
    return new SequenceError(
      'SEQUENCE_UNANSWERED',
      `${message}. Retry; the number in flight may be skipped`,
      { cause: this.failure },
    )
  }
}
