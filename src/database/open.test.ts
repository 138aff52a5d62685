import assert from 'node:assert/strict'
import test from 'node:test'
import { inspect } from 'node:util'
import { keptLog } from '../support/kept-log.fixture.js'
import { openDatabase } from './open.js'
import { sqlite } from './sqlite/sqlite.js'

test('a URL is opened and owned; a Database is taken as it is and not owned', async () => {
  for (const [url, dialect] of [
    ['mysql://h/d', 'mysql'],
    ['mariadb://h/d', 'mysql'],
    ['postgres://h/d', 'postgres'],
    ['postgresql://h/d', 'postgres'],
    ['sqlite:./x.db', 'sqlite'],
    ['sqlite::memory:', 'sqlite'],
  ] as const) {
    const { database, owned } = openDatabase(url, console, {})
    assert.deepEqual([database.dialect, owned], [dialect, true])
    await database.close()
  }
  const mine = sqlite(':memory:')
  assert.deepEqual(openDatabase(mine, console, {}), { database: mine, owned: false })
  await mine.close()
})

test('nothing given: DATABASE_URL, or else the embedded default', () => {
  assert.equal(
    openDatabase(undefined, console, { DATABASE_URL: 'mysql://h/d' }).database.dialect,
    'mysql',
  )
  assert.equal(openDatabase(undefined, console, {}).database.dialect, 'sqlite')
  assert.equal(openDatabase(undefined, console, { DATABASE_URL: '' }).database.dialect, 'sqlite')
})

test('WIDE_CACHE_DATABASE_URL wins over DATABASE_URL, and a wrong one is refused by name', () => {
  const env = { WIDE_CACHE_DATABASE_URL: 'mysql://h/d', DATABASE_URL: 'sqlite:./x.db' }
  assert.equal(openDatabase(undefined, console, env).database.dialect, 'mysql')
  assert.equal(
    openDatabase('sqlite:./x.db', console, env).database.dialect,
    'sqlite',
    'the option goes first',
  )
  assert.throws(
    () =>
      openDatabase(undefined, console, {
        ...env,
        WIDE_CACHE_DATABASE_URL: 'mongodb://u:s3cret@h/d',
      }),
    (error: Error) =>
      /WIDE_CACHE_DATABASE_URL\)" is "mongodb:…"; allowed: mysql:/.test(error.message) &&
      !inspect(error).includes('s3cret'),
  )
})

test('quotes that an env file has left are no part of the URL', () => {
  assert.equal(
    openDatabase(undefined, console, { DATABASE_URL: '"mysql://h/d" ' }).database.dialect,
    'mysql',
  )
})

test("another library's DATABASE_URL is ignored, with one warning that says what to set", () => {
  for (const [url, what] of [
    ['mongodb://u:s3cret@h/d', 'a mongodb: URL'],
    ['mongodb+srv://u:s3cret@h', 'a mongodb+srv: URL'],
    ['file:./dev.db', 'a file: URL'],
    ['jdbc:mysql://u:s3cret@h/d', 'a jdbc: URL'],
    ['s3cret', 'no URL'],
  ] as const) {
    const log = keptLog()
    for (let times = 0; times < 2; times++) {
      const { database, owned } = openDatabase(undefined, log, { DATABASE_URL: url })
      assert.deepEqual([database.dialect, owned], ['sqlite', true])
    }
    assert.equal(log.lines.length, 1, url)
    assert(log.lines[0]!.startsWith(`wide-cache: DATABASE_URL is ${what}, which wide-cache does`))
    assert.match(log.lines[0]!, /\.\/wide-cache\.db.* WIDE_CACHE_DATABASE_URL/)
    assert.doesNotMatch(log.lines[0]!, /s3cret/)
  }
})

test('where there are several processes, a database that is not named earns a warning', () => {
  for (const [env, isWarned] of [
    [{ NODE_ENV: 'production' }, true],
    [{ WIDE_CACHE_SERVERS: 'localhost' }, true],
    [{ MEMCACHE_SERVERS: 'localhost' }, true],
    [{ MEMCACHE_SERVERS: 'localhost', DATABASE_URL: 'sqlite::memory:' }, false],
    [{ NODE_ENV: 'development' }, false],
  ] as const) {
    const log = keptLog()
    openDatabase(undefined, log, env)
    assert.equal(
      log.matching(/no database is named, so rows go to \.\/wide-cache\.db .*DATABASE_URL/).length,
      isWarned ? 1 : 0,
    )
  }
})

test('a logger that throws or rejects does no harm', () => {
  for (const warn of [
    () => {
      throw new Error('full')
    },
    async () => {
      throw new Error('full')
    },
  ]) {
    assert.equal(
      openDatabase(undefined, { info() {}, error() {}, warn }, { DATABASE_URL: 'mongodb://h/d' })
        .database.dialect,
      'sqlite',
    )
  }
})

test('sqlite::memory: and file URLs with two slashes work', async () => {
  const { database } = openDatabase('sqlite://:memory:', console, {})
  assert.equal((await database.query('SELECT 1 AS one')).rows[0]?.['one'], 1)
  await database.close()
})

test('invalid databases are refused with option and allowed values, without the URL', () => {
  const shows = (pattern: RegExp) => (error: Error) =>
    pattern.test(error.message) && !inspect(error).includes('s3cret')
  assert.throws(
    () => openDatabase('mongodb://u:s3cret@h/d', console, {}),
    shows(/option "database" is "mongodb:…"; allowed: mysql:.*postgres:.*sqlite:/),
  )
  assert.throws(
    () => openDatabase('s3cret', console, {}),
    shows(/option "database" is text without a scheme/),
  )
  assert.throws(() => openDatabase('sqlite:', console, {}), shows(/option "database"/))
  assert.throws(
    () => openDatabase('mysql://u:s3cret@h', console, {}),
    shows(/option "database".*schema/),
  )
  assert.throws(
    () => openDatabase(undefined, console, { DATABASE_URL: 'mysql://u:s3cret@h' }),
    shows(/DATABASE_URL/),
  )
  assert.throws(
    () => openDatabase(undefined, console, { DATABASE_URL: 'postgres://h/d?sslmode=s3cret' }),
    shows(/"database \(environment variable DATABASE_URL\), parameter sslmode" is another word;/),
  )
  for (const url of ['sqlite:./f.db?mode=rwc', 'sqlite:file:f.db?key=s3cret']) {
    assert.throws(
      () => openDatabase(url, console, {}),
      shows(/option "database" is an sqlite: URL with parameters; allowed: sqlite:\.\/file\.db/),
    )
  }
  assert.throws(() => openDatabase('sqlite:./f.db?mode=rwc', console, {}), {
    code: 'ERR_WIDE_CACHE_OPTION',
  })
  assert.throws(
    () => openDatabase({ query() {} } as never, console, {}),
    (error) => error instanceof TypeError,
  )
  for (const wrong of [5, null, []]) {
    const refused = { name: 'TypeError', message: /option "database"/ }
    assert.throws(() => openDatabase(wrong as never, console, {}), refused)
  }
})
