import { HashRing } from 'ketama'

/**
 * In ketama's units of 50 points: with 400 points each, a few servers get their shares to within
 * about 10 %.
 */
const WEIGHT = 8

/**
 * Maps each key to the server that holds it, by consistent hashing. A server added to n others
 * moves about one key in n+1, where `hash % n` would move nearly all. The order of the names makes
 * no difference.
 */
export class Ring {
  readonly #ring = new HashRing<string>()
  /** A server alone, which has every key: so no key is hashed. */
  readonly #only: string | undefined

  constructor(names: readonly string[]) {
    if (names.length === 1) this.#only = names[0]
    else for (const name of [...names].sort()) this.#ring.addNode(name, WEIGHT)
  }

  nameFor(key: string): string {
    const name = this.#only ?? this.#ring.getNode(key)
    if (name === undefined) throw new Error('wide-cache: a ring without servers')
    return name
  }
}
