import { SimulatedCache } from '../simulated-world/simulated-cache.js'
import type { SimulatedCacheServer } from '../simulated-world/simulated-cache-server.js'
import type { WideCacheProcess } from './process.js'
import { isCell } from './schema.js'

/** A cache that tells the checks what becomes of cells. */
export class WatchedCache extends SimulatedCache<WideCacheProcess> {
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
      reads.set(key, { at, server: name, value: values?.[index], answered: values !== undefined })
    }
  }
}
