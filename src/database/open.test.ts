import assert from 'node:assert/strict'
import test from 'node:test'
import { inspect } from 'node:util'
import { openDatabase } from './open.js'
import { sqlite } from './sqlite.js'

test('a URL is opened and owned; a Database is taken as it is and not owned', async () => {
  for (const [url, dialect] of [['mysql://h/d', 'mysql'], ['mariadb://h/d', 'mysql'], ['sqlite:./x.db', 'sqlite'], ['sqlite::memory:', 'sqlite']] as const) {
    const { database, owned } = openDatabase(url, {})
    assert.deepEqual([database.dialect, owned], [dialect, true])
    await database.close()
  }
  const mine = sqlite(':memory:')
  assert.deepEqual(openDatabase(mine, {}), { database: mine, owned: false })
  await mine.close()
})

test('nothing given: DATABASE_URL, or else the embedded default', () => {
  assert.equal(openDatabase(undefined, { DATABASE_URL: 'mysql://h/d' }).database.dialect, 'mysql')
  assert.equal(openDatabase(undefined, {}).database.dialect, 'sqlite')
  assert.equal(openDatabase(undefined, { DATABASE_URL: '' }).database.dialect, 'sqlite')
})

test('sqlite::memory: and file URLs with two slashes work', async () => {
  const { database } = openDatabase('sqlite://:memory:', {})
  assert.equal((await database.query('SELECT 1 AS one')).rows[0]?.['one'], 1)
  await database.close()
})

test('what is no database is refused, naming the option and what is allowed, without the URL', () => {
  const shows = (pattern: RegExp) => (error: Error) => pattern.test(error.message) && !inspect(error).includes('s3cret')
  assert.throws(() => openDatabase('postgres://u:s3cret@h/d', {}), shows(/option "database" is "postgres:…"; allowed: mysql:.*sqlite:/))
  assert.throws(() => openDatabase('s3cret', {}), shows(/option "database" is "text without a scheme"/))
  assert.throws(() => openDatabase('sqlite:', {}), shows(/option "database"/))
  assert.throws(() => openDatabase('mysql://u:s3cret@h', {}), shows(/option "database".*schema/))
  assert.throws(() => openDatabase(undefined, { DATABASE_URL: 'redis://:s3cret@h' }), shows(/DATABASE_URL.*"redis:…"/))
  assert.throws(() => openDatabase(undefined, { DATABASE_URL: 'mysql://u:s3cret@h' }), shows(/DATABASE_URL/))
  assert.throws(() => openDatabase({ query() {} } as never, {}), (error) => error instanceof TypeError)
  assert.throws(() => openDatabase(5 as never, {}), TypeError)
})
