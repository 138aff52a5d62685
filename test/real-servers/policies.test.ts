/**
 * A company's policy for all sessions of a server, or of a role, changes no figure, and doctor
 * names it where it forbids what the package does.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { checkRights, checkTables } from '../../src/cli/doctor/database.js'
import type { Database } from '../../src/database/database.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { postgres } from '../../src/database/postgres/postgres.js'
import { table } from '../../src/database/table.js'
import { createHits } from '../../src/hits/item-hits.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { startMariadb } from '../servers/mariadb.js'
import { sharedPostgresUrl } from '../servers/shared.js'

async function assertHitsCounted(database: Database): Promise<void> {
  const hits = createHits({
    name: 'videos',
    cache: 'memory:',
    database,
    collect: false,
    logger: keptLog(),
  })
  await hits.migrate()
  for (const item of ['one', 'two', 'three']) hits.record(item)
  await hits.flush()
  await hits.drain({ all: true })
  assert.equal((await hits.top(3)).length, 3)
  assert.equal((await database.query('SELECT item FROM hits_counts')).rows.length, 3)
  await hits.close()
}

async function rightsOf(database: Database) {
  const { parts } = await checkTables(database)
  return checkRights(database, parts)
}

test('on MySQL, limits of rows, joins and keys for all sessions change nothing', async (t) => {
  const server = await startMariadb()
  t.after(() => server.stop())
  const root = await createConnection({ socketPath: server.socket, user: 'root' })
  await root.query(
    'SET GLOBAL sql_safe_updates = 1, GLOBAL sql_select_limit = 1, GLOBAL max_join_size = 1',
  )
  await root.end()
  const database = mysql(server.url())
  t.after(() => database.close())
  await assertHitsCounted(database)
  assert.deepEqual(
    (await rightsOf(database)).map(({ severity }) => severity),
    ['ok'],
  )
})

test('on MySQL, doctor names a server that takes no writes, not the rights', async (t) => {
  const server = await startMariadb()
  t.after(() => server.stop())
  const database = mysql(server.url())
  t.after(() => database.close())
  await database.migrate(['hits'])
  await database.query('SET GLOBAL TRANSACTION READ ONLY')
  const fresh = mysql(server.url())
  t.after(() => fresh.close())
  const [finding] = await rightsOf(fresh)
  assert.equal(finding?.severity, 'error')
  assert.doesNotMatch(finding.remedy ?? '', /grant/)
  assert.match(finding.remedy ?? '', /takes writes/)
})

test('on PostgreSQL, settings of the role change nothing', async (t) => {
  const url = await sharedPostgresUrl()
  const admin = postgres(url)
  t.after(() => admin.close())
  const name = new URL(url).pathname.slice(1)
  for (const setting of [
    'statement_timeout = 0',
    `default_transaction_isolation = 'serializable'`,
    'array_nulls = off',
    'standard_conforming_strings = off',
    `bytea_output = 'escape'`,
    `datestyle = 'German, DMY'`,
    'extra_float_digits = -15',
    `timezone = 'Pacific/Apia'`,
    `client_encoding = 'LATIN1'`,
    'lock_timeout = 1',
    'idle_in_transaction_session_timeout = 1',
    'transform_null_equals = on',
  ]) {
    await admin.query(`ALTER DATABASE "${name}" SET ${setting}`)
  }
  const database = postgres(url)
  t.after(() => database.close())
  await assertHitsCounted(database)
  assert.deepEqual(
    (await rightsOf(database)).map(({ severity }) => severity),
    ['ok'],
  )
  await database.query('CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT, bytes BYTEA)')
  const texts = table('texts', ['id'], 'text', 'bytes')
  const rows = [
    [1, null, Buffer.from([0, 92, 255])],
    [2, 'NULL', null],
    [3, String.raw`\ 日本`, Buffer.from('x')],
  ] as const
  await database.transaction((tx) => texts.insert(tx, rows))
  const stored = await database.query('SELECT id, text, bytes FROM texts ORDER BY id')
  assert.deepEqual(
    stored.rows.map(({ id, text, bytes }) => [id, text, bytes]),
    rows,
  )
})

test('on PostgreSQL, doctor names a role that may only read, not its rights', async (t) => {
  const url = await sharedPostgresUrl()
  const database = postgres(url)
  t.after(() => database.close())
  await database.migrate(['hits'])
  const name = new URL(url).pathname.slice(1)
  await database.query(`ALTER DATABASE "${name}" SET default_transaction_read_only = on`)
  const fresh = postgres(url)
  t.after(() => fresh.close())
  const [finding] = await rightsOf(fresh)
  assert.equal(finding?.severity, 'error')
  assert.doesNotMatch(finding.remedy ?? '', /grant/)
  assert.match(finding.remedy ?? '', /default_transaction_read_only/)
})
