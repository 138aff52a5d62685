/**
 * Checks the URL or the options of a PostgreSQL server, and makes pg's options of them. No message
 * shows a URL or a password.
 */
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import type { PoolConfig } from 'pg'
import { given, integer, onlyKnown, wrongType, wrongValue } from '../../support/options.js'
import { checkedHosts } from '../servers/host-list.js'
import { ACQUIRE_TIMEOUT_MS, CONNECTIONS, IDLE_MS, KEEP_ALIVE_MS } from '../servers/limits.js'
import type { PostgresOptions } from './options.js'
import { postgresUrl } from './url.js'
import { postgresTypes } from './values.js'

const KNOWN = [
  'host',
  'port',
  'hosts',
  'user',
  'password',
  'database',
  'ssl',
  'connectionLimit',
] as const
const DEFAULT_PORT = 5432

/**
 * The options for pg's pools, one for each host.
 *
 * @param option what the user knows a URL as, for messages
 * @param warn told of parts of a URL that are ignored
 * @throws TypeError, RangeError
 */
export function poolOptions(
  from: string | PostgresOptions,
  option = 'database',
  warn: (message: string) => void = () => undefined,
): PoolConfig[] {
  const isUrl = typeof from === 'string'
  const options = isUrl ? postgresUrl(from, option, warn) : from
  onlyKnown('postgres', options, KNOWN)
  for (const name of ['host', 'user', 'password', 'database'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'string') {
      throw wrongType(name, `a ${typeof options[name]}`, 'a string')
    }
  }
  if (!options.database) {
    throw wrongValue(
      option,
      isUrl ? 'a URL without a database' : undefined,
      'the name of a database; as a URL: postgres://user:password@host:port/database',
    )
  }
  const { host, port, hosts, connectionLimit = CONNECTIONS, ...others } = given(options)
  if (hosts && (host !== undefined || port !== undefined)) {
    throw wrongValue('hosts', 'given beside host or port', 'hosts alone, or host and port')
  }
  const servers = hosts
    ? checkedHosts(isUrl ? option : 'hosts', hosts, DEFAULT_PORT)
    : [{ host: host ?? 'localhost', port: integer('port', port ?? DEFAULT_PORT, 1, 65_535) }]
  const common: PoolConfig = {
    ...others,
    max: integer('connectionLimit', connectionLimit, 1, 1_000),
    connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_MS,
    allowExitOnIdle: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: 'wide-cache',
    types: postgresTypes,
  }
  return servers.map((server) => ({ ...common, ...server, ...verifying(others.ssl, server.host) }))
}

/** Has the certificate compared with the host that is named. Older pg takes `localhost` for it. */
function verifying(ssl: PostgresOptions['ssl'], host: string): Pick<PoolConfig, 'ssl'> {
  if (typeof ssl !== 'object' || ssl.rejectUnauthorized === false || ssl.checkServerIdentity) {
    return {}
  }
  const checked = (_: string, certificate: PeerCertificate) =>
    checkServerIdentity(host, certificate)
  return { ssl: { ...ssl, checkServerIdentity: checked } }
}
