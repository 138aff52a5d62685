/** Checks of the memcached servers, by the statistics of each. */
import type { MemcachedAddress } from '../../cache/memcached/addresses.js'
import { type MemcachedStats, memcachedStats } from '../../cache/memcached/stats.js'
import type { NamedServers } from '../../cache/open.js'
import type { Clock } from '../../support/clock.js'
import { messageOf } from '../../support/errors.js'
import { offsetText } from './database.js'
import { type Finding, findingsOf } from './finding.js'
import { checkRedis } from './redis.js'
import { sizeText } from './size-text.js'

const TIMEOUT_MS = 2_000

/** The oldest version that the package is tested with. */
const LEAST_VERSION: readonly [number, number] = [1, 4]

/** Size that a busy cell may grow to, in bytes; a server that takes less sends frames to SQL. */
const LEAST_ITEM_BYTES = 1024 * 1024

/** The share of the memory that is full. */
const FULL = 0.9

/** The memory file of a server that has none. */
const NO_FILE = '(null)'

/** `stats` tells whole seconds. */
const CLOCK_WARNING_MS = 10_000

/** Checks each server. @param others whether processes of the site use servers */
export async function checkCache(
  servers: NamedServers,
  clock: Clock,
  others: boolean,
): Promise<Finding[]> {
  const { ok, error } = findingsOf('cache')
  if (servers.kind === 'redis') return checkRedis(servers.address)
  if (servers.kind === 'memcached') {
    return (await Promise.all(servers.addresses.map((one) => checkServer(one, clock)))).flat()
  }
  return [
    others
      ? error(
          'processes of this site use cache servers, and this command was given none',
          'set WIDE_CACHE_SERVERS (or MEMCACHE_SERVERS), or --cache, as the web processes have it',
        )
      : ok('no cache servers: the grid is in the memory of the process, right for one process'),
  ]
}

async function checkServer(server: MemcachedAddress, clock: Clock): Promise<Finding[]> {
  try {
    const began = clock.now()
    const stats = await memcachedStats(server, TIMEOUT_MS)
    return findingsIn(stats, server.name, began, clock.now())
  } catch (error) {
    return [
      findingsOf('cache').error(
        messageOf(error).replace(/^wide-cache: /, ''),
        'check address, firewall and user name, and that memcached runs and does not ask for ' +
          'TLS, which its client lacks; until then processes commit their frames directly',
      ),
    ]
  }
}

/** Checks the statistics that a server gave between two moments. */
export function findingsIn(
  stats: MemcachedStats,
  name: string,
  began: number,
  ended: number,
): Finding[] {
  const { ok, warning } = findingsOf('cache')
  const findings: Finding[] = []
  const number = (key: string): number => Number(stats.get(key) ?? 0)
  const version = stats.get('version') ?? ''
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [least, leastMinor] = LEAST_VERSION
  if (major < least || (major === least && minor < leastMinor)) {
    findings.push(
      warning(
        `memcached ${name} has version ${version}, older than any that this package is tested with`,
        `update it to ${LEAST_VERSION.join('.')} or later`,
      ),
    )
  }
  const itemBytes = number('settings:item_size_max')
  if (itemBytes < LEAST_ITEM_BYTES) {
    findings.push(
      warning(
        `memcached ${name} takes items of ${sizeText(itemBytes)} at most; a cell that is fuller ` +
          'refuses frames, and their processes commit them directly',
        'start it with -I 1m or more',
      ),
    )
  }
  const file = stats.get('settings:memory_file') ?? NO_FILE
  if (file !== NO_FILE) {
    findings.push(
      warning(
        `memcached ${name} keeps its memory in the file ${file}; started with an old copy of it, ` +
          'it goes back to an earlier state, and sequences and global counters give numbers twice',
        'start it without -e; all that the package keeps there is in the database, or soon is',
      ),
    )
  }
  const [bytes, limit, evictions] = [number('bytes'), number('limit_maxbytes'), number('evictions')]
  const memory = `${sizeText(bytes)} of ${sizeText(limit)} used`
  if (evictions > 0) {
    findings.push(
      warning(
        `memcached ${name} has evicted ${evictions} items since it started (${memory}); frames ` +
          'that it evicts go to the database by their processes, unless those are killed',
        'give it more memory (-m), or a server that nothing else fills',
      ),
    )
  } else if (bytes > FULL * limit) {
    findings.push(
      warning(
        `memcached ${name} is nearly full (${memory}), and will evict frames`,
        'give it more memory (-m), or a server that nothing else fills',
      ),
    )
  }
  // The server has told the second in which it answered.
  const second = number('time') * 1000
  const [behind, ahead] = [second + 999 - began, second - ended]
  const offset = behind < 0 ? behind : ahead > 0 ? ahead : 0
  if (Math.abs(offset) > CLOCK_WARNING_MS) {
    findings.push(
      warning(
        `the clock of memcached ${name} is ${offsetText(offset, 'this machine')}; no count ` +
          'relies on it, but a machine with a wrong clock may run a web process too',
        'let NTP or chrony set it',
      ),
    )
  }
  return findings.length > 0
    ? findings
    : [ok(`memcached ${version} at ${name}, ${memory}, no evictions`)]
}
