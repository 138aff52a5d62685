import type { Records } from '../simulation/records.js'
import { isCell } from '../simulation/schema.js'
import type { Scenario } from '../simulation/scenario.js'
import type { World } from './world.js'

interface Item {
  value: Buffer
  readonly expires: number
}

/** A cache server: memcached's rules, and its ways to lose things. */
export class SimulatedCacheServer {
  readonly name: string
  readonly items = new Map<string, Item>()
  /** Answers nobody until then; `Infinity`: gone for good. */
  downUntil = 0
  readonly #world: World
  readonly #scenario: Scenario
  readonly #records: Records
  #bytes = 0

  constructor(name: string, world: World, scenario: Scenario, records: Records) {
    this.name = name
    this.#world = world
    this.#scenario = scenario
    this.#records = records
  }

  get up(): boolean {
    return this.#world.now >= this.downUntil
  }

  /** Since when it has been up; `Infinity` if it is not. */
  get upSince(): number {
    return this.up ? this.downUntil : Infinity
  }

  get(key: string): Buffer | undefined {
    const item = this.items.get(key)
    if (!item || item.expires > this.#world.now) return item?.value
    this.remove(key)
    return undefined
  }

  store(key: string, value: Buffer, ttlSeconds: number): boolean {
    this.remove(key)
    return this.#keep(key, value, this.#world.now + ttlSeconds * 1000, value)
  }

  append(key: string, value: Buffer): boolean {
    const old = this.get(key)
    if (!old || old.length + value.length > this.#scenario.itemLimit) return false
    const { expires } = this.items.get(key)!
    if (this.#scenario.refusesWhenFull && this.#bytes + value.length > this.#scenario.serverBytes) {
      return false
    }
    this.remove(key)
    return this.#keep(key, Buffer.concat([old, value]), expires, value)
  }

  remove(key: string): boolean {
    const item = this.items.get(key)
    if (!item) return false
    this.#bytes -= item.value.length
    return this.items.delete(key)
  }

  clear(): void {
    this.items.clear()
    this.#bytes = 0
  }

  /** `added`: the part of `value` that has come now. */
  #keep(key: string, value: Buffer, expires: number, added: Buffer): boolean {
    if (value.length > this.#scenario.itemLimit) return false
    while (this.#bytes + value.length > this.#scenario.serverBytes) {
      const [oldest] = this.items.keys()
      if (this.#scenario.refusesWhenFull || oldest === undefined) return false
      this.remove(oldest)
    }
    this.#bytes += value.length
    this.items.set(key, { value, expires })
    if (isCell(key)) this.#records.stored(key, added)
    return true
  }
}

/** The server of a key, in a list of servers. */
export function serverOf(
  key: string,
  servers: readonly SimulatedCacheServer[],
): SimulatedCacheServer {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return servers[(hash >>> 8) % servers.length]!
}
