import type { World } from './world.js'

/** A value is never changed: another one takes its place. */
interface Item {
  value: Buffer
  readonly expires: number
}

/** State of a server at a moment. */
export interface CacheSnapshot {
  readonly takenAt: number
  readonly items: ReadonlyMap<string, Item>
}

/** Limits of a cache server. */
export interface CacheLimits {
  readonly itemLimit: number
  readonly serverBytes: number
  /** `true`: a full server refuses, instead of evicting the oldest value. */
  readonly refusesWhenFull: boolean
}

const UNLIMITED: CacheLimits = {
  itemLimit: Infinity,
  serverBytes: Infinity,
  refusesWhenFull: false,
}

/**
 * A cache server: memcached's rules, and its ways to lose things. It may also go back to an earlier
 * state.
 */
export class SimulatedCacheServer {
  readonly name: string
  readonly items = new Map<string, Item>()
  /** Answers nobody until then; `Infinity`: gone for good. */
  downUntil = 0
  readonly #world: World
  readonly #limits: CacheLimits
  readonly #stored: (key: string, added: Buffer) => void
  #bytes = 0

  /** `stored` hears of each item that is kept, and which bytes of it are new. */
  constructor(
    name: string,
    world: World,
    limits: CacheLimits = UNLIMITED,
    stored: (key: string, added: Buffer) => void = () => undefined,
  ) {
    this.name = name
    this.#world = world
    this.#limits = limits
    this.#stored = stored
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
    const { itemLimit, serverBytes, refusesWhenFull } = this.#limits
    const old = this.get(key)
    if (!old || old.length + value.length > itemLimit) return false
    const { expires } = this.items.get(key)!
    if (refusesWhenFull && this.#bytes + value.length > serverBytes) return false
    this.remove(key)
    return this.#keep(key, Buffer.concat([old, value]), expires, value)
  }

  /** `undefined` where there is no number. */
  increment(key: string, delta: number): number | undefined {
    const old = this.get(key)
    if (!old) return undefined
    const { expires } = this.items.get(key)!
    const value = Number(old) + delta
    const text = Buffer.from(String(value))
    this.remove(key)
    return this.#keep(key, text, expires, text) ? value : undefined
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

  snapshot(): CacheSnapshot {
    return { takenAt: this.#world.now, items: new Map(this.items) }
  }

  /**
   * Goes back to a snapshot. `pausesTtls`: its clock has stood still since then, as that of a
   * machine that is restored. Otherwise what has expired meanwhile is gone, as from a dump.
   */
  restore({ takenAt, items }: CacheSnapshot, pausesTtls: boolean): void {
    this.clear()
    const laterMs = pausesTtls ? this.#world.now - takenAt : 0
    for (const [key, { value, expires }] of items) {
      this.items.set(key, { value, expires: expires + laterMs })
      this.#bytes += value.length
    }
  }

  /** `added`: the part of `value` that has come now. */
  #keep(key: string, value: Buffer, expires: number, added: Buffer): boolean {
    const { itemLimit, serverBytes, refusesWhenFull } = this.#limits
    if (value.length > itemLimit) return false
    while (this.#bytes + value.length > serverBytes) {
      const [oldest] = this.items.keys()
      if (refusesWhenFull || oldest === undefined) return false
      this.remove(oldest)
    }
    this.#bytes += value.length
    this.items.set(key, { value, expires })
    this.#stored(key, added)
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
