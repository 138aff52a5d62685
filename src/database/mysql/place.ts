/** Names a MySQL server in messages. */
import type { PoolOptions } from 'mysql2'
import type { DatabaseError } from '../database.js'
import { CHECK as SYSTEM_CHECK, type Place, refuses, unreachable } from '../servers/place.js'
import { mysqlError, serverSays } from './errors.js'

export interface MysqlPlace extends Place {
  readonly connectTimeoutMs: number
}

/** Advice where the connection was not made, by the code of the system, of Node or of mysql2. */
const CHECK: Readonly<Record<string, string>> = {
  ...SYSTEM_CHECK,
  ECONNRESET: 'the connection was cut. Check that host and port are those of a MySQL server',
  PROTOCOL_CONNECTION_LOST:
    'the connection was closed. Check that host and port are those of a MySQL server',
  HANDSHAKE_NO_SSL_SUPPORT:
    'the URL asks for TLS and the server has none. Enable it on the server, or connect with ' +
    'ssl-mode=disabled',
  HANDSHAKE_SSL_ERROR:
    'Check the certificates: ssl-ca names the authority, and ssl-mode=required encrypts ' +
    'without verifying',
}

/** Advice where the server has answered and refused, by the name of its error. */
const REMEDY: Readonly<Record<string, (place: Place) => string>> = {
  ER_ACCESS_DENIED_ERROR: () =>
    'Check user name and password, and that the server lets this user in from this host',
  ER_ACCESS_DENIED_NO_PASSWORD_ERROR: () =>
    'Check user name and password, and that the server lets this user in from this host',
  ER_DBACCESS_DENIED_ERROR: ({ schema }) =>
    `Check the name of the schema, and grant the user rights on it (GRANT … ON \`${schema}\`.*)`,
  ER_BAD_DB_ERROR: ({ schema }) =>
    `Check the name of the schema, or make it (CREATE DATABASE \`${schema}\`)`,
  ER_HOST_NOT_PRIVILEGED: () => 'Let the user in from this host (CREATE USER … @ …)',
  ER_HOST_IS_BLOCKED: () => 'Unblock it with FLUSH HOSTS at the server',
  ER_CON_COUNT_ERROR: () => 'Raise max_connections at the server, or lower connection_limit here',
  ER_SECURE_TRANSPORT_REQUIRED: () => 'Connect with TLS: add ?ssl-mode=required to the URL',
}

export function placeOf({
  host,
  port,
  socketPath,
  database = '',
  user,
  connectTimeout = 0,
}: PoolOptions): MysqlPlace {
  const server = socketPath ?? `${host?.includes(':') ? `[${host}]` : host}:${port}`
  return {
    name: socketPath
      ? `MySQL at ${server}, schema "${database}",`
      : `mysql://${server}/${database}`,
    server,
    schema: database,
    user,
    connectTimeoutMs: connectTimeout,
  }
}

/** The error of a connection that could not be made. */
export function connectionError(error: unknown, place: MysqlPlace): DatabaseError {
  const known = mysqlError(error)
  const { code, message } = known
  // At this point the server has seen names and no values.
  const said = serverSays(error)
  if (said !== undefined) return refuses(known, place, said, REMEDY[code]?.(place))
  const check =
    code === 'ETIMEDOUT'
      ? `no answer within ${place.connectTimeoutMs / 1000} s. Check host and port, the ` +
        'firewall and the network'
      : code === 'HANDSHAKE_SSL_ERROR'
        ? `${message}. ${CHECK[code]}`
        : (CHECK[code] ?? message)
  return unreachable(known, place, check)
}
