/** What MySQL, MariaDB and mysql2 can say. */
import { rows, type Said } from '../servers/said.js'

const LOGIN =
  'Check user name and password, and that the server lets this user in from this host. A user ' +
  'who has to use TLS (REQUIRE SSL) needs ?ssl-mode=required in the URL'
export const BINLOG_REMEDY =
  'Set it to ROW in the configuration of the server, and run SET GLOBAL binlog_format = ROW ' +
  'for now; connections that are open keep the old one'
const AGAIN = 'The whole transaction was rolled back: retry its work'

export const SAID: readonly Said[] = rows([
  // Connections
  [
    'usage',
    'HANDSHAKE_NO_SSL_SUPPORT',
    'Enable it on the server, or connect with ssl-mode=disabled',
  ],
  [
    'usage',
    'HANDSHAKE_SSL_ERROR',
    'Name the authority with ssl-ca, or encrypt without verifying the certificates by ' +
      'ssl-mode=required',
  ],
  [
    'usage',
    'HANDSHAKE_UNKNOWN_ERROR',
    'Check that host and port are those of a MySQL server, and read its log',
  ],
  [
    'usage',
    'AUTH_SWITCH_PLUGIN_ERROR MYSQL_CLEAR_PASSWORD_NOT_ENABLED',
    'Give the user caching_sha2_password, mysql_native_password or client_ed25519',
  ],
  [
    'unreachable',
    'ER_BAD_HOST_ERROR ER_HANDSHAKE_ERROR',
    "Check the network and proxies, and read the server's log",
  ],
  ['unreachable', 'ER_HOST_IS_BLOCKED', 'Unblock it with FLUSH HOSTS at the server'],
  [
    'unreachable',
    'ER_SERVER_SHUTDOWN ER_ABORTING_CONNECTION ER_NEW_ABORTING_CONNECTION ' +
      'ER_QUERY_INTERRUPTED ER_1927',
    'Unless the server was restarted, find out who did it',
  ],
  [
    'unreachable',
    'ER_NET_FCNTL_ERROR ER_NET_PACKETS_OUT_OF_ORDER ER_NET_UNCOMPRESS_ERROR ' +
      'ER_NET_READ_ERROR ER_NET_READ_INTERRUPTED ER_NET_ERROR_ON_WRITE ' +
      'ER_NET_WRITE_INTERRUPTED ER_2006 ER_2013',
    'Check the network, and proxies on the way',
  ],
  ['unreachable', 'ER_CLIENT_INTERACTION_TIMEOUT', 'Do nothing: the next call uses another one'],
  [
    'unreachable',
    'ER_QUERY_TIMEOUT ER_1969',
    'Raise max_execution_time or max_statement_time at the server, and check its load',
  ],
  [
    'unreachable',
    'ER_ERROR_DURING_COMMIT',
    "Read the server's log: the commit may have been carried out",
  ],
  // Users
  ['usage', 'ER_ACCESS_DENIED_ERROR ER_ACCESS_DENIED_NO_PASSWORD_ERROR', LOGIN],
  ['usage', 'ER_ACCOUNT_HAS_BEEN_LOCKED', 'Unlock it with ALTER USER … ACCOUNT UNLOCK'],
  ['usage', 'ER_MUST_CHANGE_PASSWORD_LOGIN', 'Change it with another client'],
  [
    'usage',
    'ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK ' + 'ER_USER_IS_BLOCKED',
    'Check the password. Then run ALTER USER … ACCOUNT UNLOCK (MySQL) or FLUSH PRIVILEGES ' +
      '(MariaDB)',
  ],
  ['usage', 'ER_HOST_NOT_PRIVILEGED', 'Let the user in from this host (CREATE USER … @ …)'],
  ['usage', 'ER_SECURE_TRANSPORT_REQUIRED', 'Connect with TLS: add ?ssl-mode=required to the URL'],
  [
    'usage',
    'ER_DBACCESS_DENIED_ERROR',
    'Check the name of the schema, and grant the user rights on it (GRANT … ON `%`.*)',
  ],
  ['usage', 'ER_BAD_DB_ERROR', 'Check the name of the schema, or make it (CREATE DATABASE `%`)'],
  [
    'usage',
    'ER_TABLEACCESS_DENIED_ERROR ER_COLUMNACCESS_DENIED_ERROR ' + 'ER_SPECIFIC_ACCESS_DENIED_ERROR',
    'Processes need SELECT, INSERT, UPDATE and DELETE on the schema, and what makes the ' +
      'tables, such as `wide-cache migrate`, also CREATE',
  ],
  // Locks
  [
    'lock',
    'ER_LOCK_WAIT_TIMEOUT ER_LOCK_NOWAIT ER_CANT_UPDATE_WITH_READLOCK',
    `${AGAIN}. Keep transactions short`,
  ],
  [
    'lock',
    'ER_LOCK_DEADLOCK ER_USER_LOCK_DEADLOCK ER_CHECKREAD ' +
      'ER_TRANSACTION_ROLLBACK_DURING_COMMIT',
    AGAIN,
  ],
  // What the server lacks
  [
    'capacity',
    'EE_WRITE ER_ERROR_ON_WRITE ER_DISK_FULL ER_RECORD_FILE_FULL ' + 'ER_TEMP_FILE_WRITE_FAILURE',
    'Free space where the server keeps its data',
  ],
  ['capacity', 'ER_CANT_LOCK ER_GET_ERRNO', "Read the server's log"],
  [
    'capacity',
    'ER_OUTOFMEMORY ER_OUT_OF_SORTMEMORY ER_OUT_OF_RESOURCES ER_CANT_CREATE_THREAD ' +
      'ER_LOCK_TABLE_FULL',
    'Give the server more, or open fewer connections',
  ],
  [
    'capacity',
    'ER_CON_COUNT_ERROR',
    'Raise max_connections at the server, or lower connection_limit here',
  ],
  [
    'capacity',
    'ER_TOO_MANY_USER_CONNECTIONS ER_USER_LIMIT_REACHED',
    "Raise the user's limits at the server, or lower connection_limit here",
  ],
  [
    'capacity',
    'ER_OPTION_PREVENTS_STATEMENT ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION ' +
      'ER_READ_ONLY_MODE ER_OPEN_AS_READONLY',
    'Name the server that takes writes, or make this one writable',
  ],
  [
    'capacity',
    'ER_SERVER_OFFLINE_MODE',
    'End it with SET GLOBAL offline_mode = OFF, or name another server',
  ],
  [
    'capacity',
    'ER_RUN_HOOK_ERROR ER_GRP_TRX_CONSISTENCY_NOT_ALLOWED ' +
      'ER_GRP_TRX_CONSISTENCY_BEFORE ER_GRP_TRX_CONSISTENCY_AFTER_ON_TRX_BEGIN ' +
      'ER_GRP_TRX_CONSISTENCY_BEGIN_NOT_ALLOWED ER_UNKNOWN_COM_ERROR',
    'Name a member that is in its group, or have this one rejoin it',
  ],
  [
    'capacity',
    'ER_BEFORE_DML_VALIDATION_ERROR',
    "Read the server's log, which says what the table lacks, such as a primary key",
  ],
  [
    'capacity',
    'ER_TRANS_CACHE_FULL',
    'Raise max_binlog_cache_size at the server, or commit fewer rows at once',
  ],
  [
    'usage',
    'ER_BINLOG_STMT_MODE_AND_ROW_ENGINE',
    `The server's binlog_format is STATEMENT; allowed: ROW, MIXED. ${BINLOG_REMEDY}`,
  ],
  // Rows
  [
    'data',
    'ER_NET_PACKET_TOO_LARGE ER_WARN_ALLOWED_PACKET_OVERFLOWED',
    'Raise max_allowed_packet at the server, or send less at once',
  ],
  ['data', 'ER_DUP_ENTRY', 'Change the key, or use an upsert'],
  [
    'data',
    'ER_WARN_DATA_OUT_OF_RANGE WARN_DATA_TRUNCATED ER_TRUNCATED_WRONG_VALUE ' +
      'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD ER_ILLEGAL_VALUE_FOR_TYPE ' +
      'ER_WRONG_VALUE_FOR_TYPE ER_DATA_TOO_LONG ER_INVALID_JSON_TEXT ER_WRONG_VALUE ' +
      'ER_CANNOT_CONVERT_STRING ER_BAD_NULL_ERROR ER_6136 ER_6138',
    'Check the value, or change the column',
  ],
  [
    'data',
    'ER_CHECK_CONSTRAINT_VIOLATED ER_CONSTRAINT_FAILED ER_SIGNAL_EXCEPTION ' +
      'ER_VIEW_CHECK_FAILED ER_NO_PARTITION_FOR_GIVEN_VALUE',
    'Change the row, or what refuses it',
  ],
  // Statements
  [
    'usage',
    'ER_NO_SUCH_TABLE ER_BAD_TABLE_ERROR ER_BAD_FIELD_ERROR',
    'Run `wide-cache migrate`, or make the table if it is your own',
  ],
  [
    'usage',
    'ER_NO_DEFAULT_FOR_FIELD ER_SP_DOES_NOT_EXIST ER_TABLE_EXISTS_ERROR ' +
      'ER_DUP_FIELDNAME ER_DUP_KEYNAME ER_CANT_DROP_FIELD_OR_KEY ER_NON_UNIQ_ERROR',
    'Correct the statement, or the schema',
  ],
])
