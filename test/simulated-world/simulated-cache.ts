import type { Cache, CacheError } from '../../src/cache/cache.js'
import type { ErrorClasses } from './errors.js'
import { serverOf, type SimulatedCacheServer } from './simulated-cache-server.js'
import type { SimulatedProcess } from './simulated-process.js'

/** Time after which a client no longer waits for an answer. */
const TIMEOUT_MS = 300

/** Greatest delay of a request on its way to the server. */
const LATEST_MS = 30_000

/** The chances that a network between a process and its cache servers goes wrong. */
export interface CacheFaults {
  readonly requestLost: number
  readonly replyLost: number
  readonly delayed: number
  readonly duplicated: number
  /** Requests to a server that is down fail at once. */
  readonly refusesAtOnce: boolean
}

/** A process's connection to its servers, through a network that loses, delays and repeats. */
export class SimulatedCache<P extends SimulatedProcess = SimulatedProcess> implements Cache {
  readonly scope = 'shared'
  readonly neverGoesBack: boolean
  /** The process finds these at the addresses in its list. */
  servers: readonly SimulatedCacheServer[]
  protected readonly process: P
  readonly #faults: CacheFaults
  readonly #errors: ErrorClasses

  constructor(
    process: P,
    servers: readonly SimulatedCacheServer[],
    faults: CacheFaults,
    errors: ErrorClasses,
    neverGoesBack = false,
  ) {
    this.process = process
    this.servers = servers
    this.#faults = faults
    this.#errors = errors
    this.neverGoesBack = neverGoesBack
  }

  get(key: string): Promise<Buffer | undefined> {
    return this.ask('get', key, (server) => server.get(key))
  }

  async getMany(
    keys: readonly string[],
    onUnanswered?: (key: string, error: CacheError) => void,
  ): Promise<Map<string, Buffer>> {
    const asked = new Map<SimulatedCacheServer, string[]>()
    for (const key of keys) {
      const server = serverOf(key, this.servers)
      const its = asked.get(server)
      if (its) its.push(key)
      else asked.set(server, [key])
    }
    const values = new Map<string, Buffer>()
    const at = this.process.world.now
    await Promise.all(
      [...asked].map(async ([server, its]) => {
        let found: (Buffer | undefined)[] | undefined
        try {
          found = await this.#askServer(server, `getMany ${its[0]}+${its.length - 1}`, () =>
            its.map((key) => server.get(key)),
          )
        } catch (error) {
          if (!onUnanswered || !(error instanceof this.#errors.CacheError)) throw error
          for (const key of its) onUnanswered(key, error)
        }
        this.asked(server, its, found, at)
        for (const [index, key] of its.entries()) {
          const value = found?.[index]
          if (value) values.set(key, value)
        }
      }),
    )
    return values
  }

  set(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    return this.ask('set', key, (server) => server.store(key, value, ttlSeconds))
  }

  add(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    return this.ask(
      'add',
      key,
      (server) => server.get(key) === undefined && server.store(key, value, ttlSeconds),
    )
  }

  append(key: string, value: Buffer): Promise<boolean> {
    return this.ask('append', key, (server) => server.append(key, value))
  }

  delete(key: string): Promise<boolean> {
    return this.ask('delete', key, (server) => server.get(key) !== undefined && server.remove(key))
  }

  increment(key: string, delta = 1): Promise<number | undefined> {
    return this.ask('increment', key, (server) => server.increment(key, delta))
  }

  async close(): Promise<void> {}

  /** Hears what a server has answered to `getMany` at `at`: values, or nothing at all. */
  protected asked(
    _server: SimulatedCacheServer,
    _keys: readonly string[],
    _values: readonly (Buffer | undefined)[] | undefined,
    _at: number,
  ): void {}

  protected ask<T>(
    what: string,
    key: string,
    apply: (server: SimulatedCacheServer) => T,
  ): Promise<T> {
    const server = serverOf(key, this.servers)
    return this.#askServer(server, `${what} ${key}`, () => apply(server))
  }

  #askServer<T>(server: SimulatedCacheServer, what: string, apply: () => T): Promise<T> {
    const { process } = this
    const { world } = process
    const { random } = world
    const { requestLost, replyLost, delayed, duplicated } = world.faulty ? this.#faults : NO_FAULTS
    const arrives = random.chance(requestLost)
      ? Infinity
      : random.chance(delayed)
        ? random.between(TIMEOUT_MS, LATEST_MS)
        : random.between(0, 3)
    const answers = random.chance(replyLost) ? Infinity : arrives + random.between(0, 3)
    return new Promise((resolve, reject) => {
      const fail = (code: 'CACHE_TIMEOUT' | 'CACHE_UNREACHABLE', ms: number) =>
        world.after(ms, () =>
          process.answer(what, LATEST_MS, () => {
            world.note(`${process.name} ${server.name} ${what}: ${code}`)
            reject(new this.#errors.CacheError(code, code, { server: server.name }))
          }),
        )
      if (!server.up) {
        const atOnce = this.#faults.refusesAtOnce
        return void fail(
          !atOnce && random.chance(0.3) ? 'CACHE_TIMEOUT' : 'CACHE_UNREACHABLE',
          atOnce ? 1 : random.pick([1, TIMEOUT_MS]),
        )
      }
      if (answers >= TIMEOUT_MS) fail('CACHE_TIMEOUT', TIMEOUT_MS)
      if (arrives === Infinity) return
      if (random.chance(duplicated)) {
        world.after(arrives + random.between(0, LATEST_MS), () => server.up && apply())
      }
      world.after(arrives, () => {
        if (!server.up) {
          // The server went away while the request was on its way.
          if (answers < TIMEOUT_MS) fail('CACHE_TIMEOUT', TIMEOUT_MS)
          return
        }
        const answer = apply()
        if (answers >= TIMEOUT_MS) return
        world.after(answers - arrives, () =>
          process.answer(what, TIMEOUT_MS - 1 - answers, () => {
            world.note(`${process.name} ${server.name} ${what}`)
            resolve(answer)
          }),
        )
      })
    })
  }
}

const NO_FAULTS = { requestLost: 0, replyLost: 0, delayed: 0, duplicated: 0 }
