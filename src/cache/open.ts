import { variable } from '../support/environment-variable.js'
import { wrongType, wrongValue } from '../support/options.js'
import type { Cache } from './cache.js'
import { isCache } from './checks.js'
import { type MemcachedAddress, memcachedAddresses } from './memcached/addresses.js'
import { openMemcached } from './memcached/memcached.js'
import { memory } from './memory.js'
import { withoutSecrets } from './without-secrets.js'

/** A cache, and whether it was made here: its owner closes what is `owned`, and nothing else. */
export interface OpenedCache {
  readonly cache: Cache
  readonly owned: boolean
}

const ALLOWED =
  'memcached://host:port,host:port or host:port,host:port or memory: or a Cache such as ' +
  'memcached(...)'
const VARIABLES = ['WIDE_CACHE_SERVERS', 'MEMCACHE_SERVERS']

/**
 * The cache that the option `cache` asks for: a `Cache`, or `host:port,host:port` with or without
 * `memcached://`, or `memory:`. Not given: the same by the environment variable WIDE_CACHE_SERVERS,
 * or else MEMCACHE_SERVERS, or else `memory:`.
 *
 * @throws TypeError, RangeError naming the option
 */
export function openCache(
  given: string | Cache | undefined,
  env: NodeJS.ProcessEnv = process.env,
): OpenedCache {
  if (given === undefined) {
    const [option, text] = byEnvironment(env)
    return { cache: text === '' ? memory() : byText(option, text), owned: true }
  }
  if (typeof given === 'string') return { cache: byText('cache', given), owned: true }
  if (!isCache(given)) throw wrongType('cache', given, ALLOWED)
  return { cache: given, owned: false }
}

/**
 * The memcached servers that {@link openCache} would use; none where it would use `memory:`.
 *
 * @throws TypeError, RangeError naming the option
 */
export function memcachedServers(
  given: string | undefined,
  env: NodeJS.ProcessEnv = process.env,
): MemcachedAddress[] {
  const [option, text] = given === undefined ? byEnvironment(env) : ['cache', given]
  if (text === '' || text === 'memory:') return []
  refuseOther(option, text)
  return memcachedAddresses(option, text)
}

/**
 * Returns the option as messages name it, with the variable that is set, and the variable's text.
 */
function byEnvironment(env: NodeJS.ProcessEnv): [option: string, text: string] {
  const name = VARIABLES.find((name) => variable(env, name) !== '')
  return name ? [`cache (environment variable ${name})`, variable(env, name)] : ['cache', '']
}

function byText(option: string, text: string): Cache {
  if (text === 'memory:') return memory()
  refuseOther(option, text)
  return openMemcached(memcachedAddresses(option, text), {})
}

function refuseOther(option: string, text: string): void {
  // Not a server's name, but a colon forgotten.
  const isOther = text === 'memory' || /^(?!memcached:)[^,@]*:\/\//.test(text)
  if (isOther) throw wrongValue(option, withoutSecrets(text), ALLOWED)
}
