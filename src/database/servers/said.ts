/**
 * What a database server, its driver and the system can say. Each server has one table: it gives an
 * error its category, and its message what to do. `npm run errors` makes docs/errors.md of them.
 */
import type { DatabaseErrorCategory } from '../database.js'
import { CONNECT_TIMEOUT_MS } from './limits.js'

/** A row of the table. */
export interface Said {
  readonly category: DatabaseErrorCategory
  /** As errors have them. */
  readonly codes: readonly string[]
  /** Where no server has put it into words. */
  readonly cause?: string
  /** What the operator does. `%`: the name of the schema or the database. */
  readonly remedy: string
}

/** Makes a table of short rows. Spaces are between codes. */
export function rows(
  table: readonly (readonly [
    DatabaseErrorCategory,
    codes: string,
    remedy: string,
    cause?: string,
  ])[],
): Said[] {
  return table.map(([category, codes, remedy, cause]) => ({
    category,
    codes: codes.split(' '),
    remedy,
    ...(cause !== undefined && { cause }),
  }))
}

/** Where no server answers, whichever it is. */
export const NETWORK: readonly Said[] = rows([
  [
    'unreachable',
    'ETIMEDOUT',
    'Check host and port, the firewall, the network and the load of the server',
    `No answer within ${CONNECT_TIMEOUT_MS / 1000} s`,
  ],
  [
    'unreachable',
    'ECONNREFUSED',
    'Check host and port, and that the server is running',
    'Nothing listens there',
  ],
  ['unreachable', 'ENOTFOUND', 'Check its spelling and the DNS', 'The host name is unknown'],
  ['unreachable', 'EAI_AGAIN', 'Check the host name and the DNS', 'The DNS does not answer'],
  [
    'unreachable',
    'EHOSTUNREACH ENETUNREACH',
    'Check the host and the network',
    'No route leads there',
  ],
  [
    'unreachable',
    'ENOENT',
    'Check its path, and that the server is running',
    'There is no such socket',
  ],
  ['unreachable', 'EACCES', 'Check its permissions', 'This process may not open the socket'],
  [
    'unreachable',
    'ECONNRESET PROTOCOL_CONNECTION_LOST',
    'Unless the server was restarted, check that host and port are those of the database',
    'The connection was cut',
  ],
])

/** The row of the code. */
export function saidOf(table: readonly Said[], code: string): Said | undefined {
  return [...table, ...NETWORK].find(({ codes }) => codes.includes(code))
}

/** The remedy as messages have it, behind what was said. */
export function withRemedy(text: string, said: Said | undefined, schema = '…'): string {
  return said ? `${text.replace(/\.$/, '')}. ${said.remedy.replace('%', () => schema)}` : text
}
