/**
 * Remembers what was computed for a text, for up to `limit` texts; then it forgets all and begins
 * anew. That is cheaper on the request path than knowing the least recently used, and costs one
 * computation a text.
 */
export class Memo<T> {
  readonly #limit: number
  readonly #compute: (text: string) => T
  readonly #remembered = new Map<string, T>()

  constructor(limit: number, compute: (text: string) => T) {
    this.#limit = limit
    this.#compute = compute
  }

  get(text: string): T {
    const remembered = this.#remembered.get(text)
    if (remembered !== undefined) return remembered
    if (this.#remembered.size >= this.#limit) this.#remembered.clear()
    const computed = this.#compute(text)
    this.#remembered.set(text, computed)
    return computed
  }
}
