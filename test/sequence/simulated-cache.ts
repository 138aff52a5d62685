import type { Cache, CacheErrorCode } from '../../src/cache/cache.js'
import type { World } from '../simulated-world/world.js'
import type { Loaded, Scenario } from './simulate.js'
import type { SimulatedProcess } from './simulated-process.js'

/** When a client no longer waits for an answer. */
const TIMEOUT_MS = 500
/** How late a request may be carried out. */
const LATEST_MS = 5_000

/**
 * A memcached that may be silent, forget, and be replaced by another at its address, each process
 * seeing its own.
 */
export class SimulatedServer {
  readonly items = new Map<string, number>()
  silentUntil = 0
}

/** A process's connections. `sees` maps each address to the server that the process finds there. */
export class SimulatedCache implements Cache {
  readonly scope = 'shared'
  sees: SimulatedServer[]
  readonly #process: SimulatedProcess
  readonly #world: World
  readonly #scenario: Scenario
  readonly #loaded: Loaded

  constructor(
    process: SimulatedProcess,
    sees: SimulatedServer[],
    scenario: Scenario,
    loaded: Loaded,
  ) {
    this.#process = process
    this.#world = process.world
    this.sees = sees
    this.#scenario = scenario
    this.#loaded = loaded
  }

  get(key: string): Promise<Buffer | undefined> {
    return this.#ask(key, ({ items }) =>
      items.has(key) ? Buffer.from(String(items.get(key))) : undefined,
    )
  }

  add(key: string, value: Buffer): Promise<boolean> {
    return this.#ask(key, ({ items }) => {
      if (items.has(key)) return false
      items.set(key, Number(value))
      return true
    })
  }

  increment(key: string, delta = 1): Promise<number | undefined> {
    return this.#ask(key, ({ items }) => {
      const old = items.get(key)
      if (old === undefined) return undefined
      items.set(key, old + delta)
      return old + delta
    })
  }

  getMany = unused
  set = unused
  append = unused
  delete = unused
  async close(): Promise<void> {}

  #ask<T>(key: string, execute: (server: SimulatedServer) => T): Promise<T> {
    const { random } = this.#world
    const { loses, slow } = this.#scenario
    const server = this.sees[key.charCodeAt(key.length - 1) % this.sees.length]!
    return new Promise((resolve, reject) => {
      const timeout = this.#world.after(TIMEOUT_MS, () =>
        this.#process.deliver(() => reject(this.#error('CACHE_TIMEOUT'))),
      )
      if (this.#world.now < server.silentUntil || random.chance(loses)) return
      const way = random.chance(slow) ? random.between(0, LATEST_MS) : random.between(0, 8)
      this.#world.after(way, () => {
        const answer = execute(server)
        if (random.chance(loses)) return
        this.#world.after(
          random.chance(slow) ? random.between(0, LATEST_MS) : random.between(0, 8),
          () => {
            timeout()
            this.#process.deliver(() => resolve(answer))
          },
        )
      })
    })
  }

  #error(code: CacheErrorCode): Error {
    return new this.#loaded.CacheError(code, 'no answer in the simulation')
  }
}

async function unused(): Promise<never> {
  throw new Error('a sequence does not use it')
}
