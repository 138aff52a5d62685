/**
 * Checks the URL or the options of a MySQL server, and makes mysql2's options of them. No message
 * shows a URL or a password.
 */
import { isIP } from 'node:net'
import type { PoolOptions } from 'mysql2'
import { refusedValue } from '../../support/options.js'
import { CONNECT_TIMEOUT_MS, KEEP_ALIVE_MS, QUEUE_LIMIT } from '../servers/limits.js'
import { checkedOptions, type OneServer } from '../servers/options.js'
import type { MysqlOptions } from './options.js'
import { mysqlValue } from './session.js'
import { MYSQL } from './words.js'

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
  const servers = checkedOptions(MYSQL, from, option, warn)
  checkIdentity(option, servers)
  return servers.map((server) => ({
    ...server,
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
  }))
}

/**
 * Refuses to verify the identity of a server by its address, because mysql2 would compare the
 * certificate with the name `localhost`.
 *
 * @throws RangeError
 */
function checkIdentity(option: string, servers: readonly OneServer<MysqlOptions['ssl']>[]): void {
  const wrong = servers.find(
    ({ host, ssl, socketPath }) =>
      socketPath === undefined && typeof ssl === 'object' && ssl.verifyIdentity && isIP(host),
  )
  if (!wrong) return
  throw refusedValue(
    option,
    `the address ${wrong.host} beside ssl-mode=verify_identity`,
    'the host name that the certificate has, or ssl-mode=verify_ca, which compares no name',
  )
}
