/**
 * Names a database server in messages. An operator who reads that a connection failed must see
 * which server, database and user are meant, and what to check. A message never has the password.
 */
import { DatabaseError } from '../database.js'

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
export const CHECK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there. Check host and port, and that the server is running',
  ENOTFOUND: 'the host name is unknown. Check its spelling and the DNS',
  EAI_AGAIN: 'the DNS does not answer. Check the host name and the DNS',
  EHOSTUNREACH: 'no route leads there. Check the host and the network',
  ENETUNREACH: 'no route leads there. Check the host and the network',
  ENOENT: 'there is no such socket. Check its path, and that the server is running',
  EACCES: 'this process may not open the socket. Check its permissions',
}

/** The error of a server that cannot be reached, and what to check. */
export function unreachable(
  { code, category }: DatabaseError,
  place: Place,
  check: string,
): DatabaseError {
  return new DatabaseError(code, category, `${place.name} cannot be reached (${code}): ${check}`, {
    unsent: true,
    server: place.server,
  })
}

/** The error of a server that has answered and refused. `said` has names and no values. */
export function refuses(
  { code, category }: DatabaseError,
  place: Place,
  said: string,
  remedy: string | undefined,
): DatabaseError {
  const whom = /\buser\b/.test(said) ? '' : ` (user "${place.user ?? ''}")`
  return new DatabaseError(
    code,
    category,
    `${place.name} refuses the connection (${code}): ${said}${whom}${remedy ? `. ${remedy}` : ''}`,
    { unsent: true, server: place.server },
  )
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
