/**
 * Errors of PostgreSQL and pg. Their messages quote values and statements (`syntax error at or near
 * "x"`), and their details show rows.
 */
import { codeOf } from '../../support/errors.js'
import type { DatabaseError } from '../database.js'
import { categoryOf, clientError, SILENCE, translated } from '../servers/errors.js'
import type { Categories, ErrorRead, ErrorWords } from '../servers/product.js'

/**
 * By SQLSTATE, or by its first two characters:
 * https://www.postgresql.org/docs/current/errcodes-appendix.html. Each has a row in docs/errors.md.
 */
export const CATEGORIES: Categories<string> = {
  // serialization failure, deadlock, lock_timeout and NOWAIT
  lock: ['40001', '40P01', '55P03'],
  // connection failures, canceled, shutdowns, starting up, idle too long, transaction too long
  unreachable: ['08', '57014', '57P01', '57P02', '57P03', '57P05', '25P03', '25P04'],
  // no disk, memory or connections; read-only; I/O errors; trouble within the server, which is all
  // that a full disk says at the start of a connection
  capacity: ['53', '25006', '58030', 'XX000'],
  // values, constraints, limits of a row or an index, CHECK OPTION, refused by a trigger; a type
  // that the column does not take, because a placeholder has the type of its value
  data: ['22', '23', '42804', '44', '54', 'P0001'],
}

/** Errors whose quotes hold names of tables, columns, constraints and roles only. */
const QUOTES_NAMES = /^(?:23|42P01|42703|42804|42P07|42501|3D000|3F000|28)/

const FREE_SPACE = '. Free space where the server keeps its data'
const AGAIN = '. The whole transaction was rolled back: retry its work'
const REMEDIES: Readonly<Record<string, string>> = {
  '40001': AGAIN,
  '40P01': AGAIN,
  '55P03': `${AGAIN}. Keep transactions short`,
  '53100': FREE_SPACE,
  '53300': '. Raise max_connections at the server, or lower connection_limit here',
  '25006': '. Name the server that takes writes, or make this one writable',
  '42P01': '. Tables of this package are made by `wide-cache migrate`',
  '42501':
    '. Processes need SELECT, INSERT, UPDATE and DELETE on the tables, and what makes the ' +
    'tables, such as `wide-cache migrate`, also CREATE on the schema',
}

/** Messages of pg and of its pool about an answer that did not come in time. */
const SAYS_SILENCE = /timeout expired|connection timeout/i

/** How errors of pg are read. */
export const ERRORS: ErrorWords = {
  read,
  quotesNames: (sqlState) => QUOTES_NAMES.test(sqlState),
  remedies: REMEDIES,
}

/** Translates an error of pg into a DatabaseError, whose code is the SQLSTATE if it has one. */
export const postgresError = (error: unknown): DatabaseError => translated(ERRORS, error)

function read(error: unknown): ErrorRead {
  const code = codeOf(error)
  const message = (error instanceof Error && error.message) || 'The connection was lost'
  // The server's errors have a severity, and Node's have none.
  const isServers = error instanceof Error && 'severity' in error && /^\w{5}$/.test(code ?? '')
  if (isServers && code !== undefined) {
    const category = categoryOf(CATEGORIES, (one) => code.startsWith(one)) ?? 'usage'
    return { code, category, message, isServers }
  }
  return clientError(SAYS_SILENCE.test(message) ? SILENCE : code, message, 'ECONNRESET')
}
