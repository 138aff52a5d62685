/**
 * The newest generation, as this process knows it. Every question to SQL about it goes through
 * here, and notes when it was asked: its knowledge counts from the question, not from the answer.
 */
import type { Clock } from '../support/clock.js'
import { CurrentGeneration } from './current-generation.js'
import type { Generation, GenerationRecord } from './generation-record.js'

/** As many lost counters within this time, and SQL alone serves: each loss is a pause of 0.7 s. */
export const MAX_LOSSES = 3
export const LOSSES_MS = 10_000
/** The last number of a sequence. */
export const LAST: number = Number.MAX_SAFE_INTEGER

export class NewestGeneration {
  readonly #record: GenerationRecord
  readonly #clock: Clock
  #current: CurrentGeneration | undefined
  /** Times at which this process learnt that the cache had lost a counter, by its own clock. */
  #losses: number[] = []

  constructor(record: GenerationRecord, clock: Clock) {
    this.#record = record
    this.#clock = clock
  }

  /** `undefined` before SQL was asked. */
  get current(): CurrentGeneration | undefined {
    return this.#current
  }

  /** Asks SQL for the newest generation. */
  async read(): Promise<CurrentGeneration> {
    const askedAt = this.#clock.elapsed()
    return this.#learn(await this.#record.read(), askedAt)
  }

  /**
   * Opens the generation after `old`, unless another process has: with the counter of `token` or,
   * `token` being `null`, without one.
   */
  async open(old: CurrentGeneration, token: Buffer | null): Promise<void> {
    const askedAt = this.#clock.elapsed()
    this.#learn(await this.#record.open(old.generation, token), askedAt)
  }

  /** Says that no process acts on an earlier generation any more. `false`: it is over. */
  async establish(current: CurrentGeneration): Promise<boolean> {
    const askedAt = this.#clock.elapsed()
    if (!(await this.#record.establish(current.generation))) return false
    current.established = true
    current.renew(askedAt)
    return true
  }

  /** Reserves up to `to`. `false`: the generation is over. */
  async reserve(current: CurrentGeneration, to: number): Promise<boolean> {
    const askedAt = this.#clock.elapsed()
    const raised = await this.#record.raise(current.generation, Math.min(to, LAST))
    if (raised) current.renew(askedAt, Math.min(to, LAST))
    else current.end()
    return raised
  }

  /** Returns how many counters the cache has lost in the last {@link LOSSES_MS}. */
  recentLosses(): number {
    const now = this.#clock.elapsed()
    return this.#losses.filter((at) => at > now - LOSSES_MS).length
  }

  #learn(newest: Generation, askedAt: number): CurrentGeneration {
    const known = this.#current
    // Answers may overtake each other.
    if (known && newest.generation < known.generation) return known
    const current = known?.generation === newest.generation ? known : this.#follow(known, newest)
    current.established ||= newest.established
    current.renew(askedAt, newest.reserved)
    return current
  }

  #follow(known: CurrentGeneration | undefined, newest: Generation): CurrentGeneration {
    const now = this.#clock.elapsed()
    // From counter to counter leads only a loss, this process's or another's.
    if (known?.token && newest.token) {
      const more = Math.min(newest.generation - known.generation, MAX_LOSSES)
      this.#losses = [...this.#losses, ...Array<number>(more).fill(now)].slice(-MAX_LOSSES)
    }
    this.#current = new CurrentGeneration(newest, now)
    return this.#current
  }
}
