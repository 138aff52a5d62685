/**
 * Translates errors of PostgreSQL and pg into a DatabaseError. Their messages quote values and
 * statements (`syntax error at or near "x"`) and their details show rows, so neither is passed on.
 * A message keeps its quotes only where they are known to hold names, and there is no `cause`.
 */
import { DatabaseError, type DatabaseErrorCategory } from '../database.js'
import { isSilence, SILENCE, withoutValues } from '../servers/errors.js'

/**
 * By SQLSTATE, or by its first two characters:
 * https://www.postgresql.org/docs/current/errcodes-appendix.html. Each has a row in docs/errors.md.
 */
export const CATEGORIES: Readonly<
  Record<Exclude<DatabaseErrorCategory, 'usage'>, readonly string[]>
> = {
  // serialization failure, deadlock, lock_timeout and NOWAIT
  lock: ['40001', '40P01', '55P03'],
  // connection failures, canceled, shutdowns, starting up, idle too long, transaction too long
  unreachable: ['08', '57014', '57P01', '57P02', '57P03', '57P05', '25P03', '25P04'],
  // no disk, memory or connections; read-only; I/O errors
  capacity: ['53', '25006', '58030'],
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

/** A server that takes no writes: the old primary after a failover, or a standby. */
const READ_ONLY = '25006'

/**
 * Errors of the client that do not pass by themselves: TLS that is not there or not trusted, a
 * password that is missing.
 */
const CLIENT_USAGE = /^(?:ERR_|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_)/
const CLIENT_SAYS_USAGE = /SSL connections|SASL|password must be|client password/i
/** Messages of pg and of its pool about an answer that did not come in time. */
const CLIENT_SAYS_SILENCE = /timeout expired|connection timeout/i

/**
 * Tells whether the other connections to the server are likely to have the same fault: it is the
 * wrong server, or silent.
 */
export function condemnsOthers(error: unknown): boolean {
  return isWrongServer(error) || isSilence(error)
}

/** Tells whether the server takes no writes. */
export function isWrongServer(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === READ_ONLY
}

/** Returns the server's own message, if the error is the server's. It may quote values. */
export function serverSays(error: unknown): string | undefined {
  const { sqlState, message } = fieldsOf(error)
  return sqlState === undefined ? undefined : message
}

/** Translates an error of pg into a DatabaseError, whose code is the SQLSTATE if it has one. */
export function postgresError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error
  const { code, sqlState, message } = fieldsOf(error)
  if (sqlState === undefined) {
    if (CLIENT_SAYS_SILENCE.test(message)) return new DatabaseError(SILENCE, 'unreachable', message)
    const isUsage = CLIENT_USAGE.test(code ?? '') || CLIENT_SAYS_USAGE.test(message)
    return new DatabaseError(
      code ?? (isUsage ? 'DATABASE_CLIENT' : 'ECONNRESET'),
      isUsage ? 'usage' : 'unreachable',
      message,
    )
  }
  return new DatabaseError(
    sqlState,
    categoryOf(sqlState),
    `${sqlState}: ` +
      (QUOTES_NAMES.test(sqlState) ? message : withoutValues(message)) +
      (REMEDIES[sqlState] ?? ''),
  )
}

function categoryOf(sqlState: string): DatabaseErrorCategory {
  for (const category of ['lock', 'unreachable', 'capacity', 'data'] as const) {
    if (CATEGORIES[category].some((one) => sqlState.startsWith(one))) return category
  }
  return 'usage'
}

function fieldsOf(error: unknown): {
  code: string | undefined
  sqlState: string | undefined
  message: string
} {
  const given = error instanceof Error && 'code' in error ? error.code : undefined
  const code = typeof given === 'string' ? given : undefined
  // The server's errors have a severity, and Node's have none.
  const isServers = error instanceof Error && 'severity' in error && /^\w{5}$/.test(code ?? '')
  return {
    code,
    sqlState: isServers ? code : undefined,
    message: (error instanceof Error && error.message) || 'The connection was lost',
  }
}
