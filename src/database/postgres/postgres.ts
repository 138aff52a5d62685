/** PostgreSQL through pg's pool. */
import { BurstLogger, type Logger } from '../../support/logger.js'
import { warnOnce } from '../../support/warn-once.js'
import type { Database, Queryable } from '../database.js'
import { OpenTransaction } from '../open-transaction.js'
import { Hosts } from '../servers/hosts.js'
import { CHANGE_TIMEOUT_MS } from '../servers/limits.js'
import { ServerDatabase } from '../servers/server-database.js'
import type { PostgresOptions } from './options.js'
import { poolOptions } from './pool-options.js'
import type { PostgresSession } from './session.js'
import { PostgresSessions } from './sessions.js'

export type { PostgresOptions } from './options.js'

/** Key of the advisory lock of migrations: the bytes of "widecach". Locks are the database's. */
const MIGRATION_LOCK = '8604518949689844584'

/**
 * A PostgreSQL (10.20+) database, by the package `pg` (8.12 or later), which is to be installed
 * beside this one. Connects at the first use.
 *
 * @param given `postgres://user:password@host:port/database` or the same as options. Several hosts,
 * `host:port,host:port`, are servers of one database; a process uses one at a time, and only one
 * that takes writes. A URL may have the parameters `connection_limit`, `host` (the folder of a Unix
 * socket), `target_session_attrs`, `sslmode`, `sslrootcert`, `sslcert`, `sslkey`.
 * @throws TypeError, RangeError; nothing of a URL but its scheme is in the
 * message. Error `ERR_WIDE_CACHE_POSTGRES` without `pg`.
 */
export function postgres(given: string | PostgresOptions): Database {
  return new PostgresDatabase(given)
}

export class PostgresDatabase extends ServerDatabase<PostgresSession> {
  /**
   * @param option what the user knows a URL as, for messages
   * @param logger told of parts of a URL that are ignored, and of moves to another host
   */
  constructor(given: string | PostgresOptions, option?: string, logger: Logger = console) {
    const options = poolOptions(given, option, (message) => warnOnce(logger, message))
    super({
      dialect: 'postgres',
      hosts: new Hosts(
        options.map((one) => new PostgresSessions(one)),
        async (query) => {
          const { rows } = await query(`SELECT current_setting('transaction_read_only') AS it`)
          return rows[0]?.['it'] === 'off'
        },
        new BurstLogger(logger, () => performance.now()),
      ),
      exclusively,
    })
  }
}

/** One transaction under an advisory lock, since DDL is rolled back with it. */
function exclusively<T>(
  session: PostgresSession,
  work: (queryable: Queryable) => Promise<T>,
): Promise<T> {
  return session.transaction((ways) => {
    const { maxStatementBytes } = session
    const check = () => undefined
    const tx = new OpenTransaction({ dialect: 'postgres', maxStatementBytes, check, ...ways })
    return tx.finish(async () => {
      await tx.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`)
      return work(tx)
    })
  }, CHANGE_TIMEOUT_MS)
}
