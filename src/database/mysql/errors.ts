/**
 * Translates errors of MySQL and mysql2 into a DatabaseError. Their messages quote values
 * ("Duplicate entry 'x'", "near 'INSERT …'") and their objects carry the whole statement, so
 * neither is passed on. A message keeps its quotes only where they are known to hold names, and
 * there is no `cause`.
 */
import { closedError } from '../closed.js'
import { DatabaseError, type DatabaseErrorCategory } from '../database.js'
import { isSilence, queueFull, withoutValues } from '../servers/errors.js'

/** Server errors by number, where the SQLSTATE does not tell. Each has a row in docs/errors.md. */
export const CATEGORIES: Readonly<
  Record<Exclude<DatabaseErrorCategory, 'usage'>, readonly number[]>
> = {
  // lock-wait timeout, deadlock, NOWAIT, user-lock deadlock, row changed since read (snapshot
  // isolation)
  lock: [1205, 1213, 3572, 3058, 1020],
  // bad handshake, shutdown, aborted connection, broken packets, host blocked, killed, timed out,
  // idle too long, gone
  unreachable: [
    1042, 1043, 1053, 1129, 1152, 1155, 1156, 1157, 1158, 1159, 1160, 1161, 1184, 1317, 1927, 1969,
    2006, 2013, 3024, 4031,
  ],
  // too many connections, out of memory or threads, disk or table full, write errors, read-only,
  // lock table full
  capacity: [
    3, 1015, 1021, 1026, 1030, 1036, 1037, 1038, 1040, 1041, 1047, 1114, 1135, 1203, 1206, 1226,
    1290, 1792, 1836,
  ],
  // packet too large, truncated, wrong value, out of range, invalid JSON, CHECK (MySQL, MariaDB),
  // refused by a trigger
  data: [1153, 1264, 1265, 1292, 1366, 1367, 1406, 1411, 1644, 3140, 3819, 4025],
}

/** Errors of the client that do not pass by themselves: TLS that is not there or not trusted. */
const CLIENT_USAGE = /^(HANDSHAKE_|ERR_|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|AUTH_)/

/**
 * MariaDB's errors, by number and SQLSTATE, where MySQL uses the number for another error: mysql2
 * has MySQL's names only.
 */
const MARIADB_NAMES: Readonly<Record<string, string>> = {
  '4025 23000': 'ER_CONSTRAINT_FAILED',
  '4151 HY000': 'ER_ACCOUNT_HAS_BEEN_LOCKED',
}

/** Errors whose quotes hold names of tables, columns, constraints, settings and users only. */
const QUOTES_NAMES = new Set([
  'ER_NO_SUCH_TABLE',
  'ER_BAD_TABLE_ERROR',
  'ER_TABLE_EXISTS_ERROR',
  'ER_BAD_FIELD_ERROR',
  'ER_NON_UNIQ_ERROR',
  'ER_BAD_DB_ERROR',
  'ER_DUP_FIELDNAME',
  'ER_DUP_KEYNAME',
  'ER_CANT_DROP_FIELD_OR_KEY',
  'ER_DATA_TOO_LONG',
  'ER_BAD_NULL_ERROR',
  'ER_NO_DEFAULT_FOR_FIELD',
  'ER_WARN_DATA_OUT_OF_RANGE',
  'ER_CHECK_CONSTRAINT_VIOLATED',
  'ER_NET_PACKET_TOO_LARGE',
  'ER_TABLEACCESS_DENIED_ERROR',
  'ER_COLUMNACCESS_DENIED_ERROR',
  'ER_DBACCESS_DENIED_ERROR',
  'ER_SPECIFIC_ACCESS_DENIED_ERROR',
])

/** Remedies, where the server's own message gives none. */
export const BINLOG_REMEDY =
  'Set it to ROW in the configuration of the server, and run SET GLOBAL binlog_format = ROW ' +
  'for now; connections that are open keep the old one'
const FREE_SPACE = '. Free space where the server keeps its data'
const WRITABLE = '. Name the server that takes writes, or make this one writable'
const RAISE_LIMIT = `. Raise the user's limits at the server, or lower connection_limit here`
const AGAIN = '. The whole transaction was rolled back: retry its work'
const REMEDIES: Readonly<Record<string, string>> = {
  EE_WRITE: FREE_SPACE,
  ER_DISK_FULL: FREE_SPACE,
  ER_ERROR_ON_WRITE: FREE_SPACE,
  ER_RECORD_FILE_FULL: FREE_SPACE,
  ER_OPTION_PREVENTS_STATEMENT: WRITABLE,
  ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: WRITABLE,
  ER_READ_ONLY_MODE: WRITABLE,
  ER_TOO_MANY_USER_CONNECTIONS: RAISE_LIMIT,
  ER_USER_LIMIT_REACHED: RAISE_LIMIT,
  ER_LOCK_DEADLOCK: AGAIN,
  ER_LOCK_WAIT_TIMEOUT: `${AGAIN}. Keep transactions short`,
  ER_NO_SUCH_TABLE: '. Tables of this package are made by `wide-cache migrate`',
  ER_BINLOG_STMT_MODE_AND_ROW_ENGINE:
    `. The server's binlog_format is STATEMENT; allowed: ROW, MIXED. ` + BINLOG_REMEDY,
  ER_TABLEACCESS_DENIED_ERROR:
    '. Processes need SELECT, INSERT, UPDATE and DELETE on the schema, and what makes the ' +
    'tables, such as `wide-cache migrate`, also CREATE',
}

/**
 * Errors of a read-only server. After a failover the old primary may live on, and a connection to
 * it never recovers.
 */
const READ_ONLY = new Set([
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
  'ER_READ_ONLY_MODE',
])
/** A node that has lost its Galera cluster refuses all statements (1047). */
const OUT_OF_CLUSTER = 'ER_UNKNOWN_COM_ERROR'

/**
 * Tells whether the other connections to the server are likely to have the same fault: it is the
 * wrong server, or silent.
 */
export function condemnsOthers(error: unknown): boolean {
  return isWrongServer(error) || isSilence(error)
}

/** Tells whether the server is read-only, or no longer part of its cluster. */
export function isWrongServer(error: unknown): boolean {
  return (
    error instanceof DatabaseError && (READ_ONLY.has(error.code) || error.code === OUT_OF_CLUSTER)
  )
}

/** Adds the holder of the lock to the error of a lock-wait timeout. */
export function withHolder(error: unknown, holder: string | undefined): unknown {
  if (
    holder === undefined ||
    !(error instanceof DatabaseError) ||
    error.code !== 'ER_LOCK_WAIT_TIMEOUT'
  ) {
    return error
  }
  return new DatabaseError(error.code, error.category, `${error.message}. ${holder}`)
}

/** Returns the server's own message, if the error is the server's. It may quote values. */
export function serverSays(error: unknown): string | undefined {
  return fieldsOf(error).sqlMessage
}

/** Translates an error of mysql2 into a DatabaseError. */
export function mysqlError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error
  const { code, errno, sqlState, sqlMessage, message } = fieldsOf(error)
  if (message === 'Queue limit reached.') return queueFull()
  if (message === 'Pool is closed.') return closedError()
  if (sqlMessage === undefined || errno === undefined) {
    const category = CLIENT_USAGE.test(code ?? '') ? 'usage' : 'unreachable'
    return new DatabaseError(code ?? 'PROTOCOL_CONNECTION_LOST', category, message)
  }
  const name = MARIADB_NAMES[`${errno} ${sqlState}`] ?? code ?? `ER_${errno}`
  return new DatabaseError(
    name,
    categoryOf(errno, sqlState),
    `${name}: ` +
      (QUOTES_NAMES.has(name) ? sqlMessage : withoutValues(sqlMessage)) +
      (REMEDIES[name] ?? ''),
  )
}

function categoryOf(errno: number, sqlState: string): DatabaseErrorCategory {
  for (const category of ['lock', 'unreachable', 'capacity', 'data'] as const) {
    if (CATEGORIES[category].includes(errno)) return category
  }
  return /^2[23]/.test(sqlState) ? 'data' : 'usage'
}

function fieldsOf(error: unknown) {
  const fields: Record<string, unknown> =
    error instanceof Error ? { ...error, message: error.message } : {}
  const text = (name: string) => (typeof fields[name] === 'string' ? fields[name] : undefined)
  const errno = typeof fields['errno'] === 'number' ? fields['errno'] : undefined
  return {
    code: text('code'),
    errno,
    sqlState: text('sqlState') ?? '',
    sqlMessage: text('sqlMessage'),
    message: text('message') ?? 'unknown failure',
  }
}
