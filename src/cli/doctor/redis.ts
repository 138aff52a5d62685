/** Checks of a Redis or Valkey server, by its INFO. */
import type { RedisAddress } from '../../cache/redis/address.js'
import { type RedisInfo, redisInfo } from '../../cache/redis/info.js'
import { RedisRefusal } from '../../cache/redis/link.js'
import { messageOf } from '../../support/errors.js'
import { type Finding, findingsOf } from './finding.js'
import { sizeText } from './size-text.js'

const TIMEOUT_MS = 2_000

/** The oldest version that knows all commands of the adapter. */
const LEAST_MAJOR = 6

/** The share of the memory that is full. */
const FULL = 0.9

/** Bytes of the replication stream that a replica may be behind. */
const MAX_LAG_BYTES = 1024 * 1024

/** Checks the server. */
export async function checkRedis(address: RedisAddress): Promise<Finding[]> {
  try {
    return redisFindings(await redisInfo(address, TIMEOUT_MS), address.name)
  } catch (error) {
    if (error instanceof RedisRefusal && error.isForbidden) {
      return [
        findingsOf('cache').warning(
          `the user of Redis ${address.name} may not run INFO, so nothing is known of its ` +
            'version, memory and replication',
          'grant the user +info and +config|get (ACL SETUSER), or look at them yourself',
        ),
      ]
    }
    return [
      findingsOf('cache').error(
        messageOf(error).replace(/^wide-cache: /, ''),
        'check address, firewall, user and password, and that the server runs; until then ' +
          'processes commit their frames directly',
      ),
    ]
  }
}

/** Checks the INFO of a server. */
export function redisFindings(info: RedisInfo, name: string): Finding[] {
  const { ok, warning, error } = findingsOf('cache')
  const findings: Finding[] = []
  const number = (key: string): number => Number(info.get(key) ?? 0)
  const isValkey = info.has('valkey_version')
  const product = isValkey ? 'Valkey' : 'Redis'
  const version = info.get(isValkey ? 'valkey_version' : 'redis_version') ?? ''
  const server = `${product} ${name}`
  if (parseInt(version, 10) < LEAST_MAJOR) {
    findings.push(
      error(
        `${server} has version ${version}, which lacks commands that this package sends`,
        `update it to ${LEAST_MAJOR}.0 or later`,
      ),
    )
  }
  if (info.get('role') === 'slave') {
    findings.push(
      error(
        `${server} is a replica and takes no writes; processes commit their frames directly`,
        'name the primary',
      ),
    )
  }
  const [used, limit, evicted] = [
    number('used_memory'),
    number('maxmemory'),
    number('evicted_keys'),
  ]
  const memory = `${sizeText(used)} of ${limit > 0 ? sizeText(limit) : 'unlimited memory'} used`
  const policy = info.get('maxmemory_policy') ?? ''
  if (limit === 0) {
    findings.push(
      warning(
        `${server} has no maxmemory: while SQL is away, frames and the site's other keys may ` +
          'fill the memory of the machine',
        'set maxmemory; a full server refuses frames, and their processes commit them directly',
      ),
    )
  } else if (used > FULL * limit) {
    findings.push(
      warning(`${server} is nearly full (${memory})`, 'give it more memory (maxmemory)'),
    )
  }
  if (policy !== 'noeviction') {
    const so = evicted > 0 ? `; it has evicted ${evicted} keys since it started` : ''
    findings.push(
      warning(
        `${server} evicts keys when it is full (maxmemory-policy ${policy})${so}; frames that it ` +
          'evicts go to the database by their processes, unless those are killed',
        'set maxmemory-policy noeviction, or give the frames a server of their own',
      ),
    )
  }
  const lag = largestLag(info)
  if (lag > MAX_LAG_BYTES) {
    findings.push(
      warning(
        `a replica of ${server} is ${sizeText(lag)} behind; after a failover the cells lack that ` +
          'much, and processes commit it directly, unless they are killed',
        'check the replica and the network to it',
      ),
    )
  }
  if (findings.length > 0) return findings
  return [ok(`${product} ${version} at ${name}, ${memory}, ${persistence(info)}`)]
}

/** Bytes of the replication stream that the slowest replica has not confirmed. */
function largestLag(info: RedisInfo): number {
  const written = Number(info.get('master_repl_offset') ?? 0)
  const lags = [...info]
    .filter(([key]) => /^slave[0-9]+$/.test(key))
    .map(([, value]) => written - Number(/offset=([0-9]+)/.exec(value)?.[1] ?? written))
  return Math.max(0, ...lags)
}

/** Nothing is lost by what a snapshot brings back: SQL rejects frames that it has. */
function persistence(info: RedisInfo): string {
  const save = info.get('config:save')
  const kept = [
    ...(info.get('aof_enabled') === '1' ? ['an append-only file'] : []),
    ...(save ? ['snapshots'] : []),
  ]
  if (kept.length === 0) return save === undefined ? 'no append-only file' : 'no persistence'
  return (
    `with ${kept.join(' and ')}: writes to disk that the frames do not need, and after a restart ` +
    'frames come back that SQL has already and rejects'
  )
}
