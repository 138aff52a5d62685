import type { CacheError } from '../../src/cache/cache.js'
import { SimulatedCache } from '../simulated-world/simulated-cache.js'
import type { SimulatedCacheServer } from '../simulated-world/simulated-cache-server.js'
import type { WideCacheProcess } from './process.js'
import { isAskedForLife } from './sign-of-life.js'
import { isCell } from './schema.js'

/** A cache that tells the checks what becomes of cells. */
export class WatchedCache extends SimulatedCache<WideCacheProcess> {
  /** Cells that are asked only whether their server lives, each with the moment. */
  readonly #forLife = new Set<string>()

  override getMany(
    keys: readonly string[],
    onUnanswered?: (key: string, error: CacheError) => void,
  ): Promise<Map<string, Buffer>> {
    if (isAskedForLife()) {
      for (const key of keys) this.#forLife.add(`${key} ${this.process.world.now}`)
    }
    return super.getMany(keys, onUnanswered)
  }

  override set(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    return this.ask('set', key, (server) => {
      if (isCell(key) && server.get(key)) {
        const { world, name } = this.process
        world.fail(`${name} overwrites ${key}, which is for appending only`)
      }
      return server.store(key, value, ttlSeconds)
    })
  }

  override delete(key: string): Promise<boolean> {
    if (isCell(key)) this.process.site.truth.deletes(this.process, key)
    return super.delete(key)
  }

  protected override asked(
    { name }: SimulatedCacheServer,
    keys: readonly string[],
    values: readonly (Buffer | undefined)[] | undefined,
    at: number,
  ): void {
    const { reads, silentNow, silentSince } = this.process
    // Only drains wait for servers.
    if (!values && isCell(keys[0]!)) {
      silentNow.add(name)
      if (!silentSince.has(name)) silentSince.set(name, at)
    }
    for (const [index, key] of keys.entries()) {
      // Nobody looks at what it holds.
      if (this.#forLife.delete(`${key} ${at}`)) continue
      reads.set(key, { at, server: name, value: values?.[index], answered: values !== undefined })
    }
  }
}
