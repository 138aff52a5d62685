/** Names a PostgreSQL server in messages. */
import type { PoolConfig } from 'pg'
import type { DatabaseError } from '../database.js'
import { SILENCE } from '../servers/errors.js'
import { CONNECT_TIMEOUT_MS } from '../servers/limits.js'
import { CHECK, type Place, refuses, unreachable } from '../servers/place.js'
import { postgresError, serverSays } from './errors.js'

const LOST = 'the connection was cut. Check that host and port are those of a PostgreSQL server'

/** Advice where the server has answered and refused, by SQLSTATE. */
const REMEDY: Readonly<Record<string, (place: Place) => string>> = {
  '28P01': () => 'Check user name and password',
  '28000': () =>
    'Check the user name, and that pg_hba.conf lets this user in from this host. Where it asks ' +
    'for TLS, add ?sslmode=require to the URL',
  '3D000': ({ schema }) =>
    `Check the name of the database, or make it (CREATE DATABASE "${schema}")`,
  '42501': ({ schema }) => `Let the user in (GRANT CONNECT ON DATABASE "${schema}" TO …)`,
  '53300': () => 'Raise max_connections at the server, or lower connection_limit here',
}

export function placeOf({ host = 'localhost', port, database = '', user }: PoolConfig): Place {
  const isSocket = host.startsWith('/')
  const server = isSocket
    ? `${host}/.s.PGSQL.${port}`
    : `${host.includes(':') ? `[${host}]` : host}:${port}`
  return {
    name: isSocket
      ? `PostgreSQL at ${server}, database "${database}",`
      : `postgres://${server}/${database}`,
    server,
    schema: database,
    user,
  }
}

/** The error of a connection that could not be made. */
export function connectionError(error: unknown, place: Place): DatabaseError {
  const known = postgresError(error)
  // At this point the server has seen names and no values.
  const said = serverSays(error)
  if (said !== undefined) return refuses(known, place, said, REMEDY[known.code]?.(place))
  if (known.code === SILENCE) {
    const seconds = CONNECT_TIMEOUT_MS / 1000
    const check = `no answer within ${seconds} s. Check host and port, the firewall and the network`
    return unreachable(known, place, check)
  }
  const check = known.code === 'ECONNRESET' ? LOST : CHECK[known.code]
  return unreachable(known, place, check ?? known.message)
}
