/**
 * The newest generation, as this process knows it. Every question to SQL about it goes through
 * here, and notes when it was asked: a belief counts from the question, not from the answer.
 */
import type { Clock } from '../support/clock.js'
import { Belief } from './belief.js'
import type { Generation, GenerationRecord } from './generation-record.js'

/** As many lost counters within this time, and SQL alone serves: each loss is a pause of 0.7 s. */
export const MAX_LOSSES = 3
export const LOSSES_MS = 10_000
/** The last number of a sequence. */
export const LAST: number = Number.MAX_SAFE_INTEGER

export class NewestGeneration {
  readonly #record: GenerationRecord
  readonly #clock: Clock
  #belief: Belief | undefined
  /** Times at which this process learnt that the cache had lost a counter, by its own clock. */
  #losses: number[] = []

  constructor(record: GenerationRecord, clock: Clock) {
    this.#record = record
    this.#clock = clock
  }

  /** `undefined` before SQL was asked. */
  get belief(): Belief | undefined {
    return this.#belief
  }

  /** Asks SQL for the newest generation. */
  async read(): Promise<Belief> {
    const askedAt = this.#clock.elapsed()
    return this.#learn(await this.#record.read(), askedAt)
  }

  /**
   * Opens the generation after `old`, unless another process has: with the counter of `token` or,
   * `token` being `null`, without one.
   */
  async open(old: Belief, token: Buffer | null): Promise<void> {
    const askedAt = this.#clock.elapsed()
    this.#learn(await this.#record.open(old.generation, token), askedAt)
  }

  /** Says that nobody believes in an earlier generation any more. `false`: it is over. */
  async establish(belief: Belief): Promise<boolean> {
    const askedAt = this.#clock.elapsed()
    if (!(await this.#record.establish(belief.generation))) return false
    belief.established = true
    belief.renew(askedAt)
    return true
  }

  /** Reserves up to `to`. `false`: the generation is over. */
  async reserve(belief: Belief, to: number): Promise<boolean> {
    const askedAt = this.#clock.elapsed()
    const raised = await this.#record.raise(belief.generation, Math.min(to, LAST))
    if (raised) belief.renew(askedAt, Math.min(to, LAST))
    else belief.end()
    return raised
  }

  /** Returns how many counters the cache has lost in the last {@link LOSSES_MS}. */
  recentLosses(): number {
    const now = this.#clock.elapsed()
    return this.#losses.filter((at) => at > now - LOSSES_MS).length
  }

  #learn(newest: Generation, askedAt: number): Belief {
    const known = this.#belief
    // Answers may overtake each other.
    if (known && newest.generation < known.generation) return known
    const belief = known?.generation === newest.generation ? known : this.#follow(known, newest)
    belief.established ||= newest.established
    belief.renew(askedAt, newest.reserved)
    return belief
  }

  #follow(known: Belief | undefined, newest: Generation): Belief {
    const now = this.#clock.elapsed()
    // From counter to counter leads only a loss, this process's or another's.
    if (known?.token && newest.token) {
      const more = Math.min(newest.generation - known.generation, MAX_LOSSES)
      this.#losses = [...this.#losses, ...Array<number>(more).fill(now)].slice(-MAX_LOSSES)
    }
    this.#belief = new Belief(newest, now)
    return this.#belief
  }
}
