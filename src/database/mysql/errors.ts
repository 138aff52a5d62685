/**
 * Errors of MySQL, MariaDB and mysql2. Their messages quote values ("Duplicate entry 'x'", "near
 * 'INSERT …'"), and their objects carry the whole statement.
 */
import { DatabaseError } from '../database.js'
import { categoryOf, clientError, translated } from '../servers/errors.js'
import type { Categories, ErrorRead, ErrorWords } from '../servers/product.js'

/** Server errors by number, where the SQLSTATE does not tell. Each has a row in docs/errors.md. */
export const CATEGORIES: Categories<number> = {
  // lock-wait timeout, deadlock, NOWAIT, user-lock deadlock, row changed since read (snapshot
  // isolation), a read lock in the way, rolled back during commit (Group Replication)
  lock: [1205, 1213, 3572, 3058, 1020, 1223, 3101],
  // a commit that failed, bad handshake, shutdown, aborted connection, broken packets, host
  // blocked, killed, timed out, idle too long, gone
  unreachable: [
    1180, 1042, 1043, 1053, 1129, 1152, 1155, 1156, 1157, 1158, 1159, 1160, 1161, 1184, 1317, 1927,
    1969, 2006, 2013, 3024, 4031,
  ],
  // too many connections, out of memory or threads, disk or table full, write errors, read-only,
  // lock table full, binary log's cache or temporary files full, offline mode, a member that has
  // left its group, is not ready for the consistency asked for, or refuses a table
  capacity: [
    1197, 1878, 3032, 3098, 3100, 3796, 3797, 3798, 3799, 3, 1015, 1021, 1026, 1030, 1036, 1037,
    1038, 1040, 1041, 1047, 1114, 1135, 1203, 1206, 1226, 1290, 1792, 1836,
  ],
  // packet too large, truncated, wrong value, out of range, invalid JSON, CHECK (MySQL, MariaDB),
  // refused by a trigger, a view's CHECK OPTION or for want of a partition, a result longer than a
  // packet, wrong value, text or vector that cannot be converted
  data: [
    1153, 1264, 1265, 1292, 1366, 1367, 1406, 1411, 1644, 3140, 3819, 4025, 1369, 1526, 1301, 1525,
    3854, 6136, 6138,
  ],
}

/**
 * Errors of the 4000s that the package speaks of. mysql2 has MySQL's names, and MariaDB has other
 * errors there. Of MySQL's, a program like this one meets only that of an idle connection.
 */
const NAMES: Readonly<Record<number, string>> = {
  4025: 'ER_CONSTRAINT_FAILED',
  4031: 'ER_CLIENT_INTERACTION_TIMEOUT',
  4150: 'ER_USER_IS_BLOCKED',
  4151: 'ER_ACCOUNT_HAS_BEEN_LOCKED',
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
  'ER_VIEW_CHECK_FAILED',
  'ER_USER_LIMIT_REACHED',
  'ER_TOO_MANY_USER_CONNECTIONS',
  'ER_TRANS_CACHE_FULL',
  'ER_RUN_HOOK_ERROR',
  'ER_GRP_TRX_CONSISTENCY_NOT_ALLOWED',
  'ER_GRP_TRX_CONSISTENCY_BEFORE',
])

/** Remedies, where the server's own message gives none. */
export const BINLOG_REMEDY =
  'Set it to ROW in the configuration of the server, and run SET GLOBAL binlog_format = ROW ' +
  'for now; connections that are open keep the old one'
const FREE_SPACE = '. Free space where the server keeps its data'
const WRITABLE = '. Name the server that takes writes, or make this one writable'
const REJOIN = '. Name a member that is in its group, or have this one rejoin it'
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
  ER_SERVER_OFFLINE_MODE: '. End it with SET GLOBAL offline_mode = OFF, or name another server',
  ER_RUN_HOOK_ERROR: REJOIN,
  ER_GRP_TRX_CONSISTENCY_NOT_ALLOWED: REJOIN,
  ER_GRP_TRX_CONSISTENCY_BEFORE: REJOIN,
  ER_TRANS_CACHE_FULL: '. Raise it at the server, or commit fewer rows at once',
  ER_TEMP_FILE_WRITE_FAILURE: FREE_SPACE,
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

/** How errors of mysql2 are read. */
export const ERRORS: ErrorWords = {
  read,
  quotesNames: (code) => QUOTES_NAMES.has(code),
  remedies: REMEDIES,
}

/** Translates an error of mysql2 into a DatabaseError. */
export const mysqlError = (error: unknown): DatabaseError => translated(ERRORS, error)

function read(error: unknown): ErrorRead {
  const { code, errno, sqlState, sqlMessage, message } = fieldsOf(error)
  if (sqlMessage === undefined || errno === undefined) {
    return clientError(code, message, 'PROTOCOL_CONNECTION_LOST')
  }
  return {
    code: nameOf(errno, code),
    category:
      categoryOf(CATEGORIES, (one) => one === errno) ??
      (/^2[23]/.test(sqlState) ? 'data' : 'usage'),
    message: sqlMessage,
    isServers: true,
  }
}

/** The name of a server error. One without a name here is not called by that of another. */
function nameOf(errno: number, code: string | undefined): string {
  const isAmbiguous = errno >= 4000 && errno < 5000
  return NAMES[errno] ?? (isAmbiguous ? undefined : code) ?? `ER_${errno}`
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
