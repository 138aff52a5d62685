import { NO_OWNER } from '../in-flight.js'
import type { MemcachedAddress } from './addresses.js'
import { MemcachedLink, OK, refusal } from './link.js'

const STAT = 0x10

/** Statistics by their names, and the settings of the server as `settings:<name>`. */
export type MemcachedStats = ReadonlyMap<string, string>

/**
 * Asks a server for its statistics and settings, for operators, through a connection of its own.
 *
 * @throws CacheError
 */
export async function memcachedStats(
  address: MemcachedAddress,
  timeoutMs: number,
): Promise<MemcachedStats> {
  const stats = new Map<string, string>()
  const link = new MemcachedLink(address, timeoutMs, NO_OWNER)
  const ask = async (key: string, prefix: string): Promise<void> => {
    const end = await link.send(STAT, key, '', '', (part) => {
      stats.set(`${prefix}${part.key.toString()}`, part.val.toString())
    })
    if (end.header.status !== OK) throw refusal(address.name, end)
  }
  try {
    await Promise.all([ask('', ''), ask('settings', 'settings:')])
    return stats
  } finally {
    link.close()
  }
}
