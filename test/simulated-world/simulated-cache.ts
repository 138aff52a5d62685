import type { Cache } from '../../src/cache/cache.js'
import type { Heart } from '../simulation/heart.js'
import type { SimulatedProcess } from './simulated-process.js'
import type { Scenario } from '../simulation/scenario.js'
import { isCell } from '../simulation/schema.js'
import { serverOf, type SimulatedCacheServer } from './simulated-cache-server.js'
import type { World } from './world.js'

/** When a client no longer waits for an answer. */
const TIMEOUT_MS = 300

/** How late a request may come to its server. */
const LATEST_MS = 30_000

/** A process's connection to its servers, through a network that loses, delays and repeats. */
export class SimulatedCache implements Cache {
  readonly scope = 'shared'
  readonly #process: SimulatedProcess
  readonly #world: World
  readonly #scenario: Scenario
  readonly #heart: Heart

  constructor(process: SimulatedProcess, scenario: Scenario, heart: Heart) {
    this.#process = process
    this.#world = process.world
    this.#scenario = scenario
    this.#heart = heart
  }

  get(key: string): Promise<Buffer | undefined> {
    return this.#ask('get', key, (server) => server.get(key))
  }

  async getMany(
    keys: readonly string[],
    onUnanswered?: (key: string, error: InstanceType<Heart['CacheError']>) => void,
  ): Promise<Map<string, Buffer>> {
    const asked = new Map<SimulatedCacheServer, string[]>()
    for (const key of keys) {
      const server = serverOf(key, this.#process.servers)
      const its = asked.get(server)
      if (its) its.push(key)
      else asked.set(server, [key])
    }
    const values = new Map<string, Buffer>()
    const at = this.#world.now
    await Promise.all(
      [...asked].map(async ([server, its]) => {
        let found: (Buffer | undefined)[] | undefined
        try {
          found = await this.#askServer(server, `getMany ${its[0]}+${its.length - 1}`, () =>
            its.map((key) => server.get(key)),
          )
        } catch (error) {
          if (!onUnanswered || !(error instanceof this.#heart.CacheError)) throw error
          this.#process.silentNow.add(server.name)
          if (!this.#process.silentSince.has(server.name)) {
            this.#process.silentSince.set(server.name, at)
          }
          for (const key of its) onUnanswered(key, error)
        }
        for (const [index, key] of its.entries()) {
          const value = found?.[index]
          this.#process.reads.set(key, {
            at,
            server: server.name,
            value,
            answered: found !== undefined,
          })
          if (value) values.set(key, value)
        }
      }),
    )
    return values
  }

  set(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    return this.#ask('set', key, (server) => {
      if (isCell(key) && server.get(key)) {
        this.#world.fail(`${this.#process.name} overwrites ${key}, which is for appending only`)
      }
      return server.store(key, value, ttlSeconds)
    })
  }

  add(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    return this.#ask(
      'add',
      key,
      (server) => server.get(key) === undefined && server.store(key, value, ttlSeconds),
    )
  }

  append(key: string, value: Buffer): Promise<boolean> {
    return this.#ask('append', key, (server) => server.append(key, value))
  }

  delete(key: string): Promise<boolean> {
    if (isCell(key)) this.#process.site.truth.deletes(this.#process, key)
    return this.#ask('delete', key, (server) => server.get(key) !== undefined && server.remove(key))
  }

  increment(): Promise<number | undefined> {
    throw new Error('the heart does not increment')
  }

  async close(): Promise<void> {}

  #ask<T>(what: string, key: string, apply: (server: SimulatedCacheServer) => T): Promise<T> {
    const server = serverOf(key, this.#process.servers)
    return this.#askServer(server, `${what} ${key}`, () => apply(server))
  }

  #askServer<T>(server: SimulatedCacheServer, what: string, apply: () => T): Promise<T> {
    const { random } = this.#world
    const { requestLost, replyLost, late, duplicated } = this.#world.faulty
      ? this.#scenario
      : NO_FAULTS
    const arrives = random.chance(requestLost)
      ? Infinity
      : random.chance(late)
        ? random.between(TIMEOUT_MS, LATEST_MS)
        : random.between(0, 3)
    const answers = random.chance(replyLost) ? Infinity : arrives + random.between(0, 3)
    return new Promise((resolve, reject) => {
      const fail = (code: 'CACHE_TIMEOUT' | 'CACHE_UNREACHABLE', ms: number) =>
        this.#world.after(ms, () =>
          this.#process.deliver(() => {
            this.#world.note(`${this.#process.name} ${server.name} ${what}: ${code}`)
            reject(new this.#heart.CacheError(code, code, { server: server.name }))
          }),
        )
      if (!server.up) {
        const atOnce = this.#scenario.refusesAtOnce
        return void fail(
          !atOnce && random.chance(0.3) ? 'CACHE_TIMEOUT' : 'CACHE_UNREACHABLE',
          atOnce ? 1 : random.pick([1, TIMEOUT_MS]),
        )
      }
      if (answers >= TIMEOUT_MS) fail('CACHE_TIMEOUT', TIMEOUT_MS)
      if (arrives === Infinity) return
      if (random.chance(duplicated)) {
        this.#world.after(arrives + random.between(0, LATEST_MS), () => server.up && apply())
      }
      this.#world.after(arrives, () => {
        if (!server.up) {
          // The server went away while the request was on its way.
          if (answers < TIMEOUT_MS) fail('CACHE_TIMEOUT', TIMEOUT_MS)
          return
        }
        const answer = apply()
        if (answers >= TIMEOUT_MS) return
        this.#world.after(answers - arrives, () =>
          this.#process.deliver(() => {
            this.#world.note(`${this.#process.name} ${server.name} ${what}`)
            resolve(answer)
          }),
        )
      })
    })
  }
}

const NO_FAULTS = { requestLost: 0, replyLost: 0, late: 0, duplicated: 0 }
