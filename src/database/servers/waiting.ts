import { noneFree } from './errors.js'
import { ACQUIRE_TIMEOUT_MS } from './limits.js'

/** Callers that wait for a connection of a driver's pool, each for a limited time. */
export class WaitingCallers {
  readonly #fails = new Set<(reason: unknown) => void>()

  /** Resolves with the connection that `ask` gets. One that comes too late is given to `end`. */
  connection<C>(ask: () => Promise<C>, end: (connection: C) => void): Promise<C> {
    return new Promise((resolve, reject) => {
      const fail = (reason: unknown): void => {
        leave()
        reject(reason)
      }
      const timer = setTimeout(() => fail(noneFree()), ACQUIRE_TIMEOUT_MS)
      /** Returns `false` if the caller has left already. */
      const leave = (): boolean => {
        clearTimeout(timer)
        return this.#fails.delete(fail)
      }
      this.#fails.add(fail)
      ask().then((connection) => (leave() ? resolve(connection) : end(connection)), fail)
    })
  }

  /** Rejects all callers. */
  fail(reason: unknown): void {
    for (const fail of this.#fails) fail(reason)
  }
}
