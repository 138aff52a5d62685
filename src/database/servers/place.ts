/**
 * Names a database server in messages. An operator who reads that a connection failed must see
 * which server, database and user are meant, and what to check. A message never has the password.
 */
import { DatabaseError } from '../database.js'
import type { ProductWords } from './product.js'
import { withRemedy } from './said.js'

export interface Place {
  /** URL of the server and its database, without user and password; or the socket and both. */
  readonly name: string
  /** `host:port`, or the socket. */
  readonly server: string
  /** Name of the schema (MySQL) or of the database (PostgreSQL). */
  readonly schema: string
  readonly user: string | undefined
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
  { errors }: ProductWords,
  error: unknown,
  { name, server, schema, user = '' }: Place,
): DatabaseError {
  const { code, category, message, isServers } = errors.read(error)
  const said = errors.said(code)
  let text: string
  if (isServers) {
    // At this point the server has seen names and no values.
    const whom = /\buser\b/.test(message) ? '' : ` (user "${user}")`
    text = `refuses the connection (${code}): ${message}${whom}`
  } else {
    // What a client says of TLS is more than the row can say.
    const why = said?.cause && category === 'unreachable' ? lowered(said.cause) : message
    text = `cannot be reached (${code}): ${why}`
  }
  text = withRemedy(text, said, schema)
  return new DatabaseError(code, category, `${name} ${text}`, { unsent: true, server })
}

function lowered(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/**
 * Adds the server to the error of a statement; to its message, too, if it is of category
 * `unreachable`.
 */
export function located(
  { code, category, message, unsent }: DatabaseError,
  { name, server }: Pick<Place, 'name' | 'server'>,
): DatabaseError {
  const namesServer = category !== 'unreachable' || message.includes(name)
  return new DatabaseError(code, category, namesServer ? message : `${name}: ${message}`, {
    unsent,
    server,
  })
}
