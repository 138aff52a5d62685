/** A session is as the package needs it, whatever the server has set for all sessions. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { onMariadb, startMariadb, type MariaDb } from '../../../test/servers/mariadb.js'
import { mysql } from './mysql.js'
import { SETTINGS, SETTINGS_OF_MARIADB, SETTINGS_OF_MYSQL } from './settings.js'

/** A value of each setting that would do harm. */
const HOSTILE: Readonly<Record<string, string | number>> = {
  sql_mode: `'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'`,
  time_zone: `'+05:30'`,
  autocommit: 0,
  completion_type: 'CHAIN',
  sql_safe_updates: 1,
  sql_select_limit: 1,
  sql_big_selects: 0,
  max_join_size: 1,
  max_sort_length: onMariadb() ? 64 : 4,
  sql_auto_is_null: 1,
  unique_checks: 0,
  innodb_lock_wait_timeout: 1,
  lock_wait_timeout: 1,
  wait_timeout: 1,
  net_read_timeout: 1,
  net_write_timeout: 1,
  idle_transaction_timeout: 1,
  idle_write_transaction_timeout: 1,
  idle_readonly_transaction_timeout: 1,
  max_statement_time: 1,
  max_execution_time: 1,
  information_schema_stats_expiry: 86_400,
}

const NAMES = Object.keys(HOSTILE).filter(
  (name) => !(name in (onMariadb() ? SETTINGS_OF_MYSQL : SETTINGS_OF_MARIADB)),
)

let server: MariaDb
before(async () => {
  server = await startMariadb()
  const root = await createConnection({ socketPath: server.socket, user: 'root' })
  for (const name of NAMES) await root.query(`SET GLOBAL ${name} = ${HOSTILE[name]}`)
  await root.query('SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE')
  await root.end()
})
after(() => server.stop())

test('a session sets all that it relies on, also after its last user has changed it', async () => {
  const all = { ...SETTINGS, ...SETTINGS_OF_MARIADB, ...SETTINGS_OF_MYSQL }
  assert.deepEqual(Object.keys(all).sort(), Object.keys(HOSTILE).sort())
  const database = mysql(`${server.url()}?connection_limit=1`)
  const ask = `SELECT ${NAMES.map((name) => `@@SESSION.${name} AS ${name}`).join(', ')}`
  const settings = async () => (await database.query(ask)).rows[0] ?? {}
  const hostile = await createConnection(server.url())
  const [[before = {}]] = (await hostile.query(ask)) as [Record<string, unknown>[], unknown]
  await hostile.end()
  const began = await settings()
  for (const name of NAMES) {
    assert.notEqual(String(began[name]), String(before[name]), `${name} is not the server's`)
  }
  for (const name of NAMES) {
    await database.query(`SET SESSION ${name} = ${HOSTILE[name]}`)
    assert.equal((await settings())[name], began[name], name)
  }
  await database.close()
})
