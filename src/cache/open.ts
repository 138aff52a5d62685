import { wrongType, wrongValue } from '../support/options.js'
import type { Cache } from './cache.js'
import { isCache } from './checks.js'
import { memcachedAddresses } from './memcached-addresses.js'
import { openMemcached } from './memcached.js'
import { memory } from './memory.js'

/** A cache, and whether it was made here: its owner closes what is `owned`, and nothing else. */
export interface OpenedCache {
  readonly cache: Cache
  readonly owned: boolean
}

const ALLOWED = 'memcached://host:port,host:port or memory: or a Cache such as memcached(...)'

/**
 * The cache that the option `cache` asks for: a `Cache`, or `memcached://host:port,host:port`, or `memory:`.
 * Not given: the servers that the environment variable MEMCACHE_SERVERS lists, or else `memory:`.
 *
 * @throws TypeError, RangeError naming the option
 */
export function openCache(given: string | Cache | undefined, env: NodeJS.ProcessEnv = process.env): OpenedCache {
  if (given === undefined) {
    const servers = env['MEMCACHE_SERVERS']
    if (!servers) return { cache: memory(), owned: true }
    return { cache: openMemcached(memcachedAddresses('cache (environment variable MEMCACHE_SERVERS)', servers), {}), owned: true }
  }
  if (typeof given !== 'string') {
    if (!isCache(given)) throw wrongType('cache', given, ALLOWED)
    return { cache: given, owned: false }
  }
  if (given === 'memory:') return { cache: memory(), owned: true }
  if (given.startsWith('memcached://')) return { cache: openMemcached(memcachedAddresses('cache', given), {}), owned: true }
  throw wrongValue('cache', given.replace(/^.*@/s, '***@'), ALLOWED)
}
