/**
 * Errors of MySQL, MariaDB and mysql2. Their messages quote values ("Duplicate entry 'x'", "near
 * 'INSERT …'"), and their objects carry the whole statement.
 */
import { DatabaseError } from '../database.js'
import { clientError, translated } from '../servers/errors.js'
import type { ErrorRead, ErrorWords } from '../servers/product.js'
import { saidOf } from '../servers/said.js'
import { SAID } from './said.js'

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

/** Locks of tables are in no list of InnoDB, and most users may not see others' transactions. */
const UNSEEN_HOLDER =
  'Who holds it is not shown: somebody ran LOCK TABLES or changes the table, or this user has no ' +
  'right PROCESS. Ask SHOW FULL PROCESSLIST, and on MySQL performance_schema.metadata_locks'

/** Adds the holder of the lock to the error of a lock-wait timeout. */
export function withHolder(error: unknown, holder: string | undefined): unknown {
  if (!(error instanceof DatabaseError) || error.code !== 'ER_LOCK_WAIT_TIMEOUT') return error
  return new DatabaseError(
    error.code,
    error.category,
    `${error.message}. ${holder ?? UNSEEN_HOLDER}`,
  )
}

/** How errors of mysql2 are read. */
export const ERRORS: ErrorWords = {
  read,
  quotesNames: (code) => QUOTES_NAMES.has(code),
  said: (code) => saidOf(SAID, code),
}

/** Translates an error of mysql2 into a DatabaseError. */
export const mysqlError = (error: unknown): DatabaseError => translated(ERRORS, error)

function read(error: unknown): ErrorRead {
  const { code, errno, sqlState, sqlMessage, message } = fieldsOf(error)
  if (sqlMessage === undefined || errno === undefined) {
    return clientError(code, message, 'PROTOCOL_CONNECTION_LOST')
  }
  const name = nameOf(errno, code)
  return {
    code: name,
    category: saidOf(SAID, name)?.category ?? (/^2[23]/.test(sqlState) ? 'data' : 'usage'),
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
