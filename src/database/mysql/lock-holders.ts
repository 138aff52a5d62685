/**
 * Finds the holder of the lock that a session waits for, for the operator who reads the error. It
 * asks on its own connection, since those of the pool may all be waiting. Its time is bounded, and
 * nothing fails when the holder cannot be told (most users may not see others' transactions).
 */
import type { Connection, PoolOptions } from 'mysql2'
import { systemClock } from '../../support/clock.js'
import { shared } from '../../support/shared.js'

/** Time limit of connecting, and of each of the two statements. */
const TIMEOUT_MS = 1_000
/** Pairs of waiting and holding transactions, at most. */
const MAX_PAIRS = 1_000

/**
 * `waiting` and `holder` are connection ids; the longest open transaction that is in the way comes
 * first.
 */
const QUERY = (waits: string): string => `
  SELECT waiting.trx_mysql_thread_id AS waiting, holding.trx_mysql_thread_id AS holder,
    process.host AS host, process.command AS command, process.time AS seconds
  FROM ${waits}
  JOIN information_schema.innodb_trx AS waiting ON waiting.trx_id = waits.requesting
  JOIN information_schema.innodb_trx AS holding ON holding.trx_id = waits.blocking
  JOIN information_schema.processlist AS process ON process.id = holding.trx_mysql_thread_id
  ORDER BY holding.trx_started, holding.trx_id LIMIT ${MAX_PAIRS}`

/** MySQL 8 has moved the table, and MariaDB has not. */
const QUERIES = {
  mariadb: QUERY(
    '(SELECT requesting_trx_id AS requesting, blocking_trx_id AS blocking ' +
      'FROM information_schema.innodb_lock_waits) AS waits',
  ),
  mysql: QUERY(
    `(SELECT requesting_engine_transaction_id AS requesting,
        blocking_engine_transaction_id AS blocking
      FROM performance_schema.data_lock_waits) AS waits`,
  ),
}

type Holders = ReadonlyMap<number, string>

/**
 * Returns a function that takes the id of a connection that waits, and resolves with a sentence
 * about the holder, or `undefined`. Concurrent calls share one look.
 */
export function lockHolders(
  options: PoolOptions,
): (connectionId: number) => Promise<string | undefined> {
  const looking = shared(systemClock, 0, () => look(options).catch((): Holders => new Map()))
  return async (connectionId) => (await looking()).get(connectionId)
}

async function look(options: PoolOptions): Promise<Holders> {
  const { host, port, socketPath, user, password, ssl } = options
  const { createConnection } = (await import('mysql2')).default
  const given = Object.entries({ host, port, socketPath, user, password, ssl }).filter(
    ([, value]) => value !== undefined,
  )
  const connection = createConnection({ ...Object.fromEntries(given), connectTimeout: TIMEOUT_MS })
  connection.on('error', () => undefined)
  try {
    const [{ version } = {}] = await rowsOf(connection, 'SELECT VERSION() AS version')
    const rows = await rowsOf(
      connection,
      /mariadb/i.test(String(version)) ? QUERIES.mariadb : QUERIES.mysql,
    )
    const holders = new Map<number, string>()
    for (const { waiting, holder, host, command, seconds } of rows) {
      if (holders.has(Number(waiting))) continue
      const state = command === 'Sleep' ? 'has been idle' : 'has been running a statement'
      const remedy =
        command === 'Sleep' ? ' If nobody needs its transaction, end it:' : ' To end it:'
      holders.set(
        Number(waiting),
        `Connection ${Number(holder)} from ${String(host)} holds the lock and ${state} for ` +
          `${Number(seconds)} s.${remedy} KILL ${Number(holder)}`,
      )
    }
    return holders
  } finally {
    connection.destroy()
  }
}

function rowsOf(connection: Connection, sql: string): Promise<Record<string, unknown>[]> {
  return new Promise((resolve, reject) => {
    connection.query({ sql, timeout: TIMEOUT_MS }, (error, rows) =>
      error ? reject(error) : resolve(rows as Record<string, unknown>[]),
    )
  })
}
