/**
 * The settings that a session relies on, in one place. It sets them itself, because each may differ
 * by the server's configuration, by a company's `init_connect`, or by its last user.
 */
import { LOCK_WAIT_SECONDS, SERVER_IDLE_SECONDS } from '../servers/limits.js'

type Settings = Readonly<Record<string, string | number>>

/** The greatest value, which stands for "no limit". */
const NO_LIMIT = '18446744073709551615'

export const SETTINGS: Settings = {
  // Strict, so that nothing is cut off in silence. Without NO_BACKSLASH_ESCAPES and ANSI_QUOTES,
  // under which mysql2's escaping is no escaping.
  sql_mode: `'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'`,
  time_zone: `'+00:00'`,
  autocommit: 1,
  // Under CHAIN a COMMIT would begin a transaction, and the statements after it would never be
  // committed.
  completion_type: 'NO_CHAIN',
  // It refuses an UPDATE or DELETE without a key in its WHERE, and leaves rows out of a result.
  sql_safe_updates: 0,
  sql_select_limit: NO_LIMIT,
  // Both refuse joins that may read many rows.
  sql_big_selects: 1,
  max_join_size: NO_LIMIT,
  // Values are sorted by so many of their bytes.
  max_sort_length: 1_024,
  // `WHERE id IS NULL` would find the row that was inserted last.
  sql_auto_is_null: 0,
  unique_checks: 1,
  innodb_lock_wait_timeout: LOCK_WAIT_SECONDS,
  lock_wait_timeout: LOCK_WAIT_SECONDS,
  // A host that is gone without a word must not keep its locks for the 8 hours that are the
  // default. The first is the time between statements, the others that within one.
  wait_timeout: SERVER_IDLE_SECONDS,
  net_read_timeout: SERVER_IDLE_SECONDS,
  net_write_timeout: SERVER_IDLE_SECONDS,
}

/**
 * Shorter times of the server's own would end healthy transactions; 0 leaves it to the first. A
 * statement ends by the time limit of this side.
 */
export const SETTINGS_OF_MARIADB: Settings = {
  idle_transaction_timeout: SERVER_IDLE_SECONDS,
  idle_write_transaction_timeout: 0,
  idle_readonly_transaction_timeout: 0,
  max_statement_time: 0,
}

export const SETTINGS_OF_MYSQL: Settings = {
  max_execution_time: 0,
  // Sizes of tables would be a day old.
  information_schema_stats_expiry: 0,
}

const assigned = (settings: Settings): string =>
  Object.entries(settings)
    .map(([name, value]) => `, SESSION ${name} = ${value}`)
    .join('')

/** MariaDB alone executes the one comment, and MySQL alone the other. */
export const SET_ALL =
  `SET NAMES utf8mb4 COLLATE utf8mb4_bin${assigned(SETTINGS)} ` +
  `/*M! ${assigned(SETTINGS_OF_MARIADB)} */ /*!80000 ${assigned(SETTINGS_OF_MYSQL)} */`
