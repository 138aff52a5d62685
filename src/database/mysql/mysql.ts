/** MySQL and MariaDB through mysql2's pool. */
import { createHash } from 'node:crypto'
import { BurstLogger, type Logger } from '../../support/logger.js'
import { warnOnce } from '../../support/warn-once.js'
import { DatabaseError, type Database, type Queryable, type SqlValue } from '../database.js'
import { databaseNow } from '../dialect.js'
import { MIGRATION_LOCK_SECONDS, migrationsBusy } from '../migrations.js'
import { Hosts, type IsWritable } from '../servers/hosts.js'
import { CHANGE_TIMEOUT_MS } from '../servers/limits.js'
import { ServerDatabase } from '../servers/server-database.js'
import { BINLOG_REMEDY } from './said.js'
import type { MysqlOptions } from './options.js'
import { poolOptions } from './pool-options.js'
import type { MysqlSession } from './session.js'
import { MysqlSessions } from './sessions.js'

export type { DatabaseHost } from '../servers/host-list.js'
export type { MysqlOptions } from './options.js'

const QUICK = /^\s*(?:SELECT\b|INSERT\b(?![^]*\bSELECT\b)|CREATE\s+TABLE\b(?![^]*\bSELECT\b))/i

/**
 * A MySQL (8.0+) or MariaDB (10.6+) database. Connects at the first use.
 *
 * @param given `mysql://user:password@host:port/database` or the same as options. Several hosts,
 * `host:port,host:port`, are servers of one database; a process uses one at a time. A URL may have
 * the parameters `connection_limit`, `socket`, `ssl-mode`, `ssl-ca`, `ssl-cert`, `ssl-key`, `ssl`.
 * @throws TypeError, RangeError; nothing of a URL but its scheme is in the
 * message.
 */
export function mysql(given: string | MysqlOptions): Database {
  return new MysqlDatabase(given)
}

export class MysqlDatabase extends ServerDatabase<MysqlSession> {
  /**
   * @param option what the user knows a URL as, for messages
   * @param logger told of parts of a URL that are ignored, and of moves to another host
   */
  constructor(given: string | MysqlOptions, option?: string, logger: Logger = console) {
    const options = poolOptions(given, option, (message) => warnOnce(logger, message))
    const loading = { works: true }
    super({
      dialect: 'mysql',
      hosts: new Hosts(
        options.map((one) => new MysqlSessions(one, loading)),
        isWritable,
        new BurstLogger(logger, () => performance.now()),
      ),
      exclusively: (session, work) => exclusively(session, options[0]?.database ?? '', work),
    })
  }
}

export const isWritable: IsWritable = async (query) => {
  const { rows } = await query("SHOW VARIABLES WHERE Variable_name IN ('read_only', 'wsrep_on')")
  const settings = new Map(rows.map((row) => [row['Variable_name'], row['Value']]))
  if ((settings.get('read_only') ?? 'OFF') !== 'OFF') return false
  // What the cluster has committed may not have come to this node yet: the next statement waits.
  if (settings.get('wsrep_on') === 'ON') await query('SET SESSION wsrep_sync_wait = 1')
  return true
}

/**
 * One connection under an advisory lock; not a transaction, since in MySQL DDL commits by itself.
 */
async function exclusively<T>(
  session: MysqlSession,
  schema: string,
  work: (queryable: Queryable) => Promise<T>,
): Promise<T> {
  const query = (sql: string, values?: readonly SqlValue[]) =>
    session.query(sql, values, QUICK.test(sql) ? undefined : CHANGE_TIMEOUT_MS)
  // The lock is the server's, not the schema's; a hash, because its name may have 64 characters
  // only.
  const lock = `wide_cache_${createHash('md5').update(schema).digest('hex')}`
  const { rows } = await query('SELECT GET_LOCK(?, ?) AS taken', [lock, MIGRATION_LOCK_SECONDS])
  if (rows[0]?.['taken'] !== 1) throw migrationsBusy()
  await refuseStatementLog(query)
  const result = await work({
    dialect: 'mysql',
    maxStatementBytes: session.maxStatementBytes,
    query,
    now: () => databaseNow({ dialect: 'mysql', query }),
  })
  await query('SELECT RELEASE_LOCK(?)', [lock])
  return result
}

/**
 * Refuses a server with a binary log of statements, because InnoDB would refuse every change at
 * READ COMMITTED, after DDL has begun.
 *
 * @throws DatabaseError `DATABASE_BINLOG_FORMAT`
 */
async function refuseStatementLog(query: Queryable['query']): Promise<void> {
  // Not @@binlog_format, which a server that has done away with it would not know.
  const { rows } = await query(`SHOW VARIABLES WHERE Variable_name IN ('log_bin', 'binlog_format')`)
  const settings = new Map(rows.map((row) => [row['Variable_name'], row['Value']]))
  if (settings.get('log_bin') !== 'ON' || settings.get('binlog_format') !== 'STATEMENT') return
  throw new DatabaseError(
    'DATABASE_BINLOG_FORMAT',
    'usage',
    `The server's binlog_format is STATEMENT; allowed: ROW, MIXED. ${BINLOG_REMEDY}. Nothing ` +
      'has been migrated',
  )
}
