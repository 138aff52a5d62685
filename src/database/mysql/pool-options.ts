/**
 * Checks the URL or the options of a MySQL server, and makes mysql2's options of them. No message
 * shows a URL or a password.
 */
import { isIP } from 'node:net'
import type { PoolOptions } from 'mysql2'
import { given, integer, onlyKnown, wrongType, wrongValue } from '../../support/options.js'
import { checkedHosts, type DatabaseHost } from '../servers/host-list.js'
import { CONNECT_TIMEOUT_MS, CONNECTIONS, KEEP_ALIVE_MS, QUEUE_LIMIT } from '../servers/limits.js'
import type { MysqlOptions } from './options.js'
import { mysqlValue } from './session.js'
import { mysqlUrl } from './url.js'

const KNOWN = [
  'host',
  'port',
  'hosts',
  'socketPath',
  'user',
  'password',
  'database',
  'ssl',
  'connectionLimit',
] as const
const DEFAULT_PORT = 3306

/**
 * The options for mysql2's pools, one for each host.
 *
 * @param option what the user knows a URL as, for messages
 * @param warn told of parts of a URL that are ignored
 * @throws TypeError, RangeError
 */
export function poolOptions(
  from: string | MysqlOptions,
  option = 'database',
  warn: (message: string) => void = () => undefined,
): PoolOptions[] {
  const options = typeof from === 'string' ? mysqlUrl(from, option, warn) : from
  onlyKnown('mysql', options, KNOWN)
  for (const name of ['host', 'socketPath', 'user', 'password', 'database'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'string') {
      throw wrongType(name, hidden(options[name]), 'a string')
    }
  }
  if (!options.database) {
    throw wrongValue(
      option,
      typeof from === 'string' ? 'a URL without a schema' : undefined,
      'the name of a schema; as a URL: mysql://user:password@host:port/database',
    )
  }
  const { host, port, hosts, connectionLimit = CONNECTIONS, ...others } = given(options)
  if (hosts && (host !== undefined || port !== undefined || others.socketPath !== undefined)) {
    throw wrongValue(
      'hosts',
      'given beside host, port or socket',
      'hosts alone, or host and port, or a socket',
    )
  }
  const servers = hosts
    ? checkedHosts(typeof from === 'string' ? option : 'hosts', hosts, DEFAULT_PORT)
    : [
        {
          host: host ?? 'localhost',
          port: integer('port', port ?? DEFAULT_PORT, 1, 65_535),
        },
      ]
  if (others.socketPath === undefined) checkIdentity(option, others.ssl, servers)
  const common = {
    ...others,
    connectionLimit: integer('connectionLimit', connectionLimit, 1, 1_000),
    queueLimit: QUEUE_LIMIT,
    connectTimeout: CONNECT_TIMEOUT_MS,
    enableKeepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
    // `end()` says goodbye to the server, which counts and logs what is cut off as aborted.
    gracefulEnd: true,
    // utf8mb4 said explicitly; of two collations that meet, the binary one wins instead of failing.
    charset: 'utf8mb4_bin',
    timezone: 'Z',
    dateStrings: true,
    jsonStrings: true,
    multipleStatements: false,
    typeCast: mysqlValue,
  }
  return servers.map((server) => ({ ...common, ...server }))
}

/**
 * Refuses to verify the identity of a server by its address, because mysql2 would compare the
 * certificate with the name `localhost`.
 *
 * @throws RangeError
 */
function checkIdentity(
  option: string,
  ssl: MysqlOptions['ssl'],
  servers: readonly DatabaseHost[],
): void {
  if (typeof ssl !== 'object' || !ssl.verifyIdentity) return
  const address = servers.map(({ host }) => host ?? '').find((host) => isIP(host))
  if (address === undefined) return
  throw wrongValue(
    option,
    `the address ${address} beside ssl-mode=verify_identity`,
    'the host name that the certificate has, or ssl-mode=verify_ca, which compares no name',
  )
}

/** A value of a wrong type, unshown. */
function hidden(value: unknown): object | string {
  return typeof value === 'object' && value !== null ? {} : `a ${typeof value}`
}
