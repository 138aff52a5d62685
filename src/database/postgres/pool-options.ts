/**
 * Checks the URL or the options of a PostgreSQL server, and makes pg's options of them. No message
 * shows a URL or a password.
 */
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import type { PoolConfig } from 'pg'
import { ACQUIRE_TIMEOUT_MS, IDLE_MS, KEEP_ALIVE_MS } from '../servers/limits.js'
import { checkedOptions } from '../servers/options.js'
import type { PostgresOptions } from './options.js'
import { postgresTypes } from './values.js'
import { POSTGRES } from './words.js'

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
  return checkedOptions(POSTGRES, from, option, warn).map(
    ({ connectionLimit, ssl, ...server }) => ({
      ...server,
      ssl: verifying(ssl, server.host),
      max: connectionLimit,
      // Takes callers out of the pool's queue whom `WaitingCallers` has just rejected.
      connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_MS,
      allowExitOnIdle: true,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      application_name: 'wide-cache',
      types: postgresTypes,
    }),
  )
}

/** Has the certificate compared with the host that is named. Older pg takes `localhost` for it. */
function verifying(ssl: PostgresOptions['ssl'], host: string): PoolConfig['ssl'] {
  if (typeof ssl !== 'object' || ssl.rejectUnauthorized === false || ssl.checkServerIdentity) {
    return ssl
  }
  const checked = (_: string, certificate: PeerCertificate) =>
    checkServerIdentity(host, certificate)
  return { ...ssl, checkServerIdentity: checked }
}
