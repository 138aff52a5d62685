import { Gather } from '../connections/gather.js'
import type { CounterGeneration, CounterGenerations } from './generations.js'
import { OutcomeUnknownError } from './outcome.js'

/** A value that the cache has come to in a generation. */
interface Counted {
  readonly generation: CounterGeneration
  readonly value: number
}

/**
 * Persists the values of a global counter in SQL: one in 1/`chance` of them. Values that are under
 * way at one time share a statement.
 */
export class Persisting {
  readonly #generations: CounterGenerations
  readonly #name: string
  readonly #chance: number
  readonly #gather: Gather<Counted, number>

  constructor(generations: CounterGenerations, name: string, chance: number) {
    this.#generations = generations
    this.#name = name
    this.#chance = chance
    this.#gather = new Gather('increments', (items) => this.#persist(items), ofOneGeneration)
  }

  /**
   * Persists the value that an increment by `delta` has come to, if it is one of those that are
   * persisted. Resolves with whether the increment is kept, whatever the cache forgets; `false`:
   * the cache has lost it, and it is to be done again.
   *
   * @throws OutcomeUnknownError
   */
  async keeps(generation: CounterGeneration, value: number, delta: number): Promise<boolean> {
    if (!this.#isPersisted(value, delta)) return true
    try {
      return value <= (await this.#gather.add({ generation, value }))
    } catch (error) {
      throw new OutcomeUnknownError(
        this.#name,
        error instanceof Error ? error : new Error(String(error)),
      )
    }
  }

  /** By counting, not by lot, so that never many in a row are left out. */
  #isPersisted(value: number, delta: number): boolean {
    return Math.floor(value * this.#chance) !== Math.floor((value - delta) * this.#chance)
  }

  /**
   * Persists values. Returns the value up to which the increments of the generation are kept now.
   */
  async #persist(items: readonly Counted[]): Promise<number> {
    const { generation } = items[0]!
    const most = items.reduce((value, item) => Math.max(value, item.value), 0)
    return (await this.#generations.persist(generation, most))
      ? most
      : this.#generations.endOf(generation)
  }
}

function ofOneGeneration(items: readonly Counted[]): number {
  const end = items.findIndex(({ generation }) => generation.number !== items[0]!.generation.number)
  return end === -1 ? items.length : end
}
