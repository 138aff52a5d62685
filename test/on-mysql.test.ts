import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onMysql } from './on-mysql.js'
import { MYSQLD_VARIABLE } from './servers/binaries.js'
import { MYSQL_VARIABLE } from './servers/shared.js'

const FILES = [
  'src/wide-cache/grid-keys.test.ts',
  'src/database/mysql/rights.test.ts',
  'src/database/mysql/load-data.test.ts',
]

test('of the tests on MySQL, a running one gets those that start none of their own', (t) => {
  const before = { ...process.env }
  t.after(() => Object.assign(process.env, before))
  delete process.env[MYSQL_VARIABLE]
  delete process.env[MYSQLD_VARIABLE]
  assert.throws(() => onMysql(FILES), /Set WIDE_CACHE_TEST_MYSQLD .* Or set WIDE_CACHE_TEST_MYSQL /)
  process.env[MYSQLD_VARIABLE] = process.execPath
  assert.deepEqual(onMysql(FILES), FILES.slice(1))
  process.env[MYSQL_VARIABLE] = 'mysql://root:password@127.0.0.1/mysql'
  assert.deepEqual(onMysql(FILES), FILES.slice(1, 2))
})
