import { cacheVariable, variable } from '../support/environment-variable.js'
import { wrongType, wrongValue } from '../support/options.js'
import type { Cache } from './cache.js'
import { isCache } from './checks.js'
import { type MemcachedAddress, memcachedAddresses } from './memcached/addresses.js'
import { openMemcached } from './memcached/memcached.js'
import { memory } from './memory.js'
import { type RedisAddress, REDIS_SCHEMES, redisAddress } from './redis/address.js'
import { openRedis } from './redis/redis.js'
import { withoutSecrets } from './without-secrets.js'

/** A cache, and whether it was made here: its owner closes what is `owned`, and nothing else. */
export interface OpenedCache {
  readonly cache: Cache
  readonly owned: boolean
}

const ALLOWED =
  'memcached://host:port,host:port or host:port,host:port or redis://host:port or memory: or a ' +
  'Cache such as memcached(...)'

/** The servers that a text names, or the environment. */
export type NamedServers =
  | { readonly kind: 'memory' }
  | { readonly kind: 'memcached'; readonly addresses: MemcachedAddress[] }
  | { readonly kind: 'redis'; readonly address: RedisAddress }

/**
 * Opens the cache that the option `cache` asks for: a `Cache`, or `host:port,host:port` with or
 * without `memcached://`, or `redis://…`, or `memory:`. Not given: the same by the environment
 * variable WIDE_CACHE_SERVERS, or else MEMCACHE_SERVERS, or else REDIS_URL, or else `memory:`.
 *
 * @throws TypeError, RangeError
 */
export function openCache(
  given: string | Cache | undefined,
  env: NodeJS.ProcessEnv = process.env,
): OpenedCache {
  if (given === undefined || typeof given === 'string') {
    return { cache: opened(namedServers(given, env)), owned: true }
  }
  if (!isCache(given)) throw wrongType('cache', given, ALLOWED)
  return { cache: given, owned: false }
}

/**
 * Returns the servers that {@link openCache} would use.
 *
 * @throws TypeError, RangeError
 */
export function namedServers(
  given: string | undefined,
  env: NodeJS.ProcessEnv = process.env,
): NamedServers {
  const [option, text] = given === undefined ? byEnvironment(env) : ['cache', given]
  if (text === 'memory:' || (given === undefined && text === '')) return { kind: 'memory' }
  const scheme = /^([a-z]+):\/\//.exec(text)?.[1]
  if (scheme !== undefined && REDIS_SCHEMES.includes(scheme)) {
    return { kind: 'redis', address: redisAddress(option, text) }
  }
  // Not a server's name, but a colon forgotten.
  const isOther = text === 'memory' || /^(?!memcached:)[^,@]*:\/\//.test(text)
  if (isOther) throw wrongValue(option, withoutSecrets(text), ALLOWED)
  return { kind: 'memcached', addresses: memcachedAddresses(option, text) }
}

/**
 * Returns the option as messages name it, with the variable that is set, and the variable's text.
 */
function byEnvironment(env: NodeJS.ProcessEnv): [option: string, text: string] {
  const name = cacheVariable(env)
  return name ? [`cache (environment variable ${name})`, variable(env, name)] : ['cache', '']
}

function opened(servers: NamedServers): Cache {
  switch (servers.kind) {
    case 'memory':
      return memory()
    case 'memcached':
      return openMemcached(servers.addresses, {})
    case 'redis':
      return openRedis(servers.address, {})
  }
}
