/**
 * Names a database server in messages. An operator who reads that a connection failed must see
 * which server, database and user are meant, and what to check. A message never has the password.
 */
import { DatabaseError } from '../database.js'
import { SILENCE } from './errors.js'
import { CONNECT_TIMEOUT_MS } from './limits.js'
import type { ProductWords } from './product.js'

export interface Place {
  /** URL of the server and its database, without user and password; or the socket and both. */
  readonly name: string
  /** `host:port`, or the socket. */
  readonly server: string
  /** Name of the schema (MySQL) or of the database (PostgreSQL). */
  readonly schema: string
  readonly user: string | undefined
}

/** Advice where nothing answers, by the code of the system or of Node. */
const CHECK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there. Check host and port, and that the server is running',
  ENOTFOUND: 'the host name is unknown. Check its spelling and the DNS',
  EAI_AGAIN: 'the DNS does not answer. Check the host name and the DNS',
  EHOSTUNREACH: 'no route leads there. Check the host and the network',
  ENETUNREACH: 'no route leads there. Check the host and the network',
  ENOENT: 'there is no such socket. Check its path, and that the server is running',
  EACCES: 'this process may not open the socket. Check its permissions',
  [SILENCE]:
    `no answer within ${CONNECT_TIMEOUT_MS / 1000} s. Check host and port, the firewall and the ` +
    'network',
}

/** Options of a client that say where its server is. */
interface Location {
  host?: string | undefined
  port?: number | undefined
  socketPath?: string | undefined
  database?: string | undefined
  user?: string | undefined
}

export function placeOf(
  { name, schemes: [scheme], holder }: ProductWords,
  { host = 'localhost', port, socketPath, database = '', user }: Location,
): Place {
  const socket = socketPath ?? (host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : undefined)
  const server = socket ?? `${host.includes(':') ? `[${host}]` : host}:${port}`
  return {
    name: socket
      ? `${name} at ${server}, ${holder} "${database}",`
      : `${scheme}://${server}/${database}`,
    server,
    schema: database,
    user,
  }
}

/** The error of a connection that could not be made, and what to check. */
export function connectionError(
  { errors, checks, refusals }: ProductWords,
  error: unknown,
  { name, server, schema, user = '' }: Place,
): DatabaseError {
  const { code, category, message, isServers } = errors.read(error)
  let text: string
  if (isServers) {
    // At this point the server has seen names and no values.
    const whom = /\buser\b/.test(message) ? '' : ` (user "${user}")`
    const remedy = refusals[code] ? `. ${filled(refusals[code], schema)}` : ''
    text = `refuses the connection (${code}): ${message}${whom}${remedy}`
  } else {
    const check = checks[code] ?? CHECK[code] ?? '%'
    text = `cannot be reached (${code}): ${filled(check, message)}`
  }
  return new DatabaseError(code, category, `${name} ${text}`, { unsent: true, server })
}

function filled(text: string, value: string): string {
  return text.replace('%', () => value)
}

/**
 * Adds the server to the error of a statement; to its message, too, if it is of category
 * `unreachable`.
 */
export function located(
  { code, category, message, unsent }: DatabaseError,
  { name, server }: Pick<Place, 'name' | 'server'>,
): DatabaseError {
  const isTold = category !== 'unreachable' || message.includes(name)
  return new DatabaseError(code, category, isTold ? message : `${name}: ${message}`, {
    unsent,
    server,
  })
}
