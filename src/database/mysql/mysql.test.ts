import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, Socket, type AddressInfo } from 'node:net'
import test, { after, describe } from 'node:test'
import { inspect } from 'node:util'
import fc from '../../../test/fast-check.js'
import { createPool, type PoolConnection } from 'mysql2'
import { eventually } from '../../support/eventually.fixture.js'
import { ASSUMED_STATEMENT_BYTES, DatabaseError, type SqlValue } from '../database.js'
import { testDatabase } from '../../testing/database.js'
import { assertCategory, rejects } from '../../testing/rejects.js'
import { table } from '../table.js'
import { testMigrations } from '../migrations.suite.js'
import { MysqlDatabase, mysql, type MysqlOptions } from './mysql.js'
import { poolOptions } from './pool-options.js'
import { knowsRowAlias, MysqlSession } from './session.js'
import { MysqlSessions } from './sessions.js'
import { fewOrMany } from '../../../test/scale.js'
import { freePort } from '../../../test/servers/free-port.js'
import { onMariadb, startMariadb, type MariaDb } from '../../../test/servers/mariadb.js'
import { sharedMysqlUrl } from '../../../test/servers/shared.js'

const unusedPort = await freePort()
testDatabase({
  test,
  name: 'mysql',
  async create() {
    const url = await sharedMysqlUrl()
    return () => new MysqlDatabase(url)
  },
  capabilities: {
    textType: 'VARCHAR(1024) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
    createUnreachable: () => new MysqlDatabase(`mysql://user@127.0.0.1:${unusedPort}/site`),
  },
})
testMigrations({
  test,
  name: 'mysql',
  fresh: sharedMysqlUrl,
  open: (url) => new MysqlDatabase(url),
  processes: fewOrMany(8, 20),
})

/** A server whose defaults are all wrong for us, and that may be restarted. */
let hostile: Promise<MariaDb> | undefined
function hostileServer(): Promise<MariaDb> {
  hostile ??= startMariadb([
    `--sql-mode=${onMariadb() ? 'ORACLE' : 'ANSI'},NO_BACKSLASH_ESCAPES,ANSI_QUOTES`,
    '--autocommit=0',
    '--transaction-isolation=SERIALIZABLE',
    '--character-set-server=latin1',
    '--default-time-zone=+05:30',
    '--max-allowed-packet=16M',
  ])
  return hostile
}
/** Closed at the end, whatever has failed: open connections keep the process alive. */
const opened: MysqlDatabase[] = []
function open(given: string | MysqlOptions): MysqlDatabase {
  const database = new MysqlDatabase(given)
  opened.push(database)
  return database
}
after(async () => {
  await Promise.all(opened.map((database) => database.close()))
  await (await hostile)?.stop()
})

/** Runs `use` on a session as the pool has it, without what a Database or a transaction checks. */
async function onSession<T>(
  url: string,
  use: (session: MysqlSession, connection: PoolConnection) => Promise<T>,
): Promise<T> {
  const pool = createPool(poolOptions(url)[0]!)
  const connection = await new Promise<PoolConnection>((resolve, reject) =>
    pool.getConnection((error, got) => (error ? reject(error) : resolve(got))),
  )
  const session = new MysqlSession(
    connection,
    () => undefined,
    async () => undefined,
    { name: 'MySQL', server: 'mysql' },
    { works: true },
  )
  try {
    await session.begin()
    return await use(session, connection)
  } finally {
    session.destroy(new Error('the test is over'))
    await new Promise((resolve) => pool.end(resolve))
  }
}

async function withTable(
  run: (database: MysqlDatabase, url: string) => Promise<void>,
  given?: string,
): Promise<void> {
  const url = given ?? (await sharedMysqlUrl())
  const database = open(url)
  try {
    await database.query('DROP TABLE IF EXISTS t')
    await database.query(
      'CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20) CHARACTER SET utf8mb4) ENGINE=InnoDB',
    )
    await database.query(`INSERT INTO t VALUES (1, 'a'), (2, 'b')`)
    await run(database, url)
  } finally {
    await database.close()
  }
}

test('a lock-wait timeout has category lock and rolls back all, even if work catches it', () =>
  withTable(async (database) => {
    await database.transaction(async (holder) => {
      await holder.query(`UPDATE t SET s = 'held' WHERE id = 1`)
      const waiter = database.transaction(async (tx) => {
        await tx.query(`INSERT INTO t VALUES (3, 'c')`)
        // MariaDB's error is that of a lock-wait timeout; MySQL has one of its own.
        await tx.query('SELECT s FROM t WHERE id = 1 FOR UPDATE NOWAIT').catch(() => undefined)
      })
      const { code } = await rejects(waiter, 'lock')
      assert.match(code, /^ER_LOCK_(WAIT_TIMEOUT|NOWAIT)$/)
    })
    const { rows } = await database.query('SELECT id, s FROM t ORDER BY id')
    assert.deepEqual(
      rows.map(({ id, s }) => [id, s]),
      [
        [1, 'held'],
        [2, 'b'],
      ],
    )
  }))

test('a transaction takes variables of its own, and SELECTs in parentheses', () =>
  withTable(async (database) => {
    await database.transaction(async (tx) => {
      await tx.query(`SET @\`another\` = 7`)
      await tx.query(
        `SET @mine = 1, @\`your's\` = CONCAT('a, autocommit', 'b'), @other := (SELECT ` +
          'COUNT(*) FROM t)',
      )
      const { rows } = await tx.query('(SELECT @mine AS n) UNION ALL (SELECT @other)')
      assert.deepEqual(
        rows.map(({ n }) => n),
        [1, 2],
      )
    })
  }))

for (const completion of ['NO_CHAIN', 'CHAIN', 'RELEASE']) {
  test(`a transaction committed elsewhere is lost, not retryable (${completion})`, async () => {
    const server = await hostileServer()
    await withTable(async (database, url) => {
      const admin = open(url)
      await admin.query(`SET GLOBAL completion_type = '${completion}'`)
      try {
        // The checks of `tx` are passed by, as a statement that commits unseen would.
        const lost = onSession(url, (session) =>
          session.transaction(async () => {
            await session.query(`UPDATE t SET s = 'half' WHERE id = 1`)
            await session.query('COMMIT')
            await session.query(`UPDATE t SET s = 'x' WHERE id = 2`)
          }),
        )
        const error = await rejects(lost, 'usage', 'DATABASE_TRANSACTION_LOST')
        assert.match(error.message, /committed.*do not retry/i)
        const fresh = open(url)
        await fresh.transaction((tx) => tx.query(`UPDATE t SET s = 'first' WHERE id = 2`))
        await fresh.query(`UPDATE t SET s = 'second' WHERE id = 2`)
        assert.equal(
          (await database.query('SELECT s FROM t WHERE id = 2')).rows[0]?.['s'],
          'second',
          'a statement after a transaction commits',
        )
        await fresh.close()
      } finally {
        await admin.query('SET GLOBAL completion_type = NO_CHAIN')
        await admin.close()
      }
    }, server.url())
  })
}

test('a transaction whose connection is shared is lost', () =>
  withTable(async (_, url) => {
    const lost = onSession(url, (session, connection) =>
      onSession(url, (__, other) =>
        session.transaction(async () => {
          await session.query(`UPDATE t SET s = 'half' WHERE id = 1`)
          // As behind a proxy that hands connections out by statement.
          connection.query = other.query.bind(other)
          await session.query(`UPDATE t SET s = 'x' WHERE id = 2`)
        }),
      ),
    )
    await rejects(lost, 'usage', 'DATABASE_TRANSACTION_LOST')
  }))

test('what may commit by itself has a guard; else a transaction is two statements more', () =>
  withTable(async (_, url) => {
    const told = (statement: string, isShown = true) =>
      onSession(url, async (session, connection) => {
        const texts: string[] = []
        const query = connection.query.bind(connection)
        connection.query = ((text: string, done: (error: unknown, result: unknown) => void) => {
          texts.push(text)
          return query(text, (error, result) =>
            done(error, isShown ? result : { ...result, serverStatus: 0 }),
          )
        }) as typeof connection.query
        await session.transaction(async () => void (await session.query(statement)))
        return texts
      })
    const [update, set] = ['UPDATE t SET s = 1', 'SET @mine = 1']
    assert.deepEqual(await told(update), ['START TRANSACTION', update, 'COMMIT'])
    const guarded = (statement: string) => [
      'START TRANSACTION',
      'SAVEPOINT wide_cache',
      statement,
      'RELEASE SAVEPOINT wide_cache',
      'COMMIT',
    ]
    assert.deepEqual(await told(set), guarded(set))
    assert.deepEqual(await told(update, false), guarded(update), 'a proxy shows no flags')
  }))

test('a deadlock has category lock for the one it fails; the other commits', () =>
  withTable(async (database) => {
    let arrived = 0
    let letGo = () => {}
    const bothAreThere = new Promise<void>((resolve) => (letGo = resolve))
    const crossing = (first: number, second: number) =>
      database.transaction(async (tx) => {
        await tx.query(`UPDATE t SET s = 'x' WHERE id = ?`, [first])
        if (++arrived === 2) letGo()
        await bothAreThere
        await tx.query(`UPDATE t SET s = 'y' WHERE id = ?`, [second])
      })
    const results = await Promise.allSettled([crossing(1, 2), crossing(2, 1)])
    const failed = results.filter((result) => result.status === 'rejected')
    assert.equal(failed.length, 1)
    await rejects(Promise.reject(failed[0]!.reason), 'lock', 'ER_LOCK_DEADLOCK')
  }))

test('a reused connection is like new: no variables, locks or temporary tables remain', () =>
  withTable(async (_, url) => {
    const database = open(`${url}?connectionLimit=1`)
    const { rows: before } = await database.query('SELECT CONNECTION_ID() AS id')
    await database.query(
      `SET SESSION sql_mode = '', time_zone = '+09:00', autocommit = 0, character_set_client ` +
        '= latin1, @mine = 1',
    )
    await database.query(`SELECT GET_LOCK('mine', 1)`)
    await database.query('CREATE TEMPORARY TABLE mine (a INT)')
    const { rows } = await database.query(
      `SELECT CONNECTION_ID() AS id, @@sql_mode LIKE 'STRICT_ALL_TABLES,%' AS strict,
      @@time_zone AS zone, @@autocommit AS auto, @@character_set_client AS charset,
      @@collation_connection AS collation, @mine AS mine, IS_USED_LOCK('mine') AS locked`,
    )
    const fresh = {
      strict: 1,
      zone: '+00:00',
      auto: 1,
      charset: 'utf8mb4',
      collation: 'utf8mb4_bin',
      mine: null,
      locked: null,
    }
    assert.deepEqual({ ...rows[0] }, { id: before[0]?.['id'], ...fresh })
    const isolation = await database.query(
      `SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')`,
    )
    assert.deepEqual(
      new Set(isolation.rows.map((row) => row['Value'])),
      new Set(['READ-COMMITTED']),
    )
    await rejects(database.query('SELECT * FROM mine'), 'usage', 'ER_NO_SUCH_TABLE')
    await database.close()
  }))

test('a server with other defaults (SQL mode, isolation, charset, zone) works alike', async () => {
  const server = await hostileServer()
  await withTable(async (database, url) => {
    const text = `\\' OR 1=1 -- "😀"`
    await database.query('UPDATE t SET s = ? WHERE id = 1', [text])
    const other = open(url)
    assert.equal(
      (await other.query('SELECT s FROM t WHERE id = 1')).rows[0]?.['s'],
      text,
      'committed, and as it was',
    )
    assert.equal((await other.query('SELECT s FROM t WHERE s = ?', [text])).rows.length, 1)
    await other.close()
    await rejects(
      database.query('INSERT INTO t VALUES (3, ?)', ['s3cret is longer than 20 characters']),
      'data',
      'ER_DATA_TOO_LONG',
    )
    await database.query("ALTER TABLE t ADD CONSTRAINT own CHECK (s <> 'refused')")
    const { code } = await rejects(database.query("INSERT INTO t VALUES (3, 'refused')"), 'data')
    assert.match(code, /^ER_(?:CONSTRAINT_FAILED|CHECK_CONSTRAINT_VIOLATED)$/)
    const now = await database.now()
    assert.ok(Math.abs(now - Date.now()) < 5_000, 'UTC')
    await database.transaction(async (tx) => {
      await tx.query('SELECT s FROM t')
      assert.equal(
        (await database.query(`UPDATE t SET s = 'free' WHERE id = 2`)).affectedRows,
        1,
        'what is read at READ COMMITTED is not locked',
      )
      assert.equal((await tx.query('SELECT s FROM t WHERE id = 2')).rows[0]?.['s'], 'free')
    })
  }, server.url())
})

test('after a restart, or a kill in mid-statement, the next statements work', async () => {
  const server = await hostileServer()
  await withTable(async (database) => {
    await Promise.all(Array.from({ length: 5 }, () => database.query('SELECT SLEEP(0.05)')))
    await server.restart()
    await Promise.all(Array.from({ length: 10 }, () => database.query('SELECT id FROM t')))
    const inFlight = database.transaction((tx) => tx.query('SELECT SLEEP(30)'))
    const broken = rejects(inFlight, 'unreachable')
    await new Promise((resolve) => setTimeout(resolve, 200))
    await server.kill()
    try {
      await broken
      await rejects(database.query('SELECT id FROM t'), 'unreachable', 'ECONNREFUSED')
    } finally {
      // Other tests use it.
      await server.restart()
    }
    const results = await Promise.all(
      Array.from({ length: 10 }, () => database.query('SELECT id FROM t')),
    )
    assert.ok(results.every(({ rows }) => rows.length === 2))
  }, server.url())
})

test('a statement over max_allowed_packet is refused as data, and the pool goes on', async () => {
  const server = await hostileServer()
  await withTable(async (database) => {
    // A server that is short of time ends a connection in the middle of so large a packet.
    const answer = (value: SqlValue) =>
      eventually('the server answers', () =>
        database.query('SELECT LENGTH(?) AS length', [value]).then(
          ({ rows }) => ({ length: rows[0]?.['length'], error: undefined }),
          (error: unknown) =>
            /ECONNRESET|EPIPE/.test(String(error)) ? undefined : { length: undefined, error },
        ),
      )
    const refused = async (value: SqlValue): Promise<void> => {
      assertCategory((await answer(value)).error, 'data', 'ER_NET_PACKET_TOO_LARGE')
    }
    for (const value of [
      's3cret'.repeat(3_000_000),
      Buffer.alloc(9_000_000),
      '\\'.repeat(9_000_000),
      '漢'.repeat(6_000_000),
    ]) {
      await refused(value)
    }
    const fits = 16 * 1024 * 1024 - `SELECT LENGTH('') AS length`.length - 64
    assert.deepEqual(await answer('x'.repeat(fits)), { length: fits, error: undefined })
    await refused('x'.repeat(fits + 1))
    assert.equal((await database.query('SELECT id FROM t')).rows.length, 2)
  }, server.url())
})

test("maxStatementBytes is cautious first, then the server's, then the connection's", async () => {
  const server = await hostileServer()
  const database = open(server.url())
  assert.equal(database.maxStatementBytes, ASSUMED_STATEMENT_BYTES)
  await database.query('SELECT 1')
  const bytes = 16 * 1024 * 1024 - 64
  assert.equal(database.maxStatementBytes, bytes)
  assert.equal(await database.transaction(async (tx) => tx.maxStatementBytes), bytes)
  await withMaxPacket(server, 4_096, async () => {
    const inTransactions = await Promise.all(
      [1, 2].map(() =>
        database.transaction(async (tx) => {
          await tx.query('SELECT SLEEP(0.05)')
          return tx.maxStatementBytes
        }),
      ),
    )
    assert.deepEqual(
      inTransactions.sort((a, b) => a - b),
      [4_096 - 64, bytes],
    )
    assert.equal(database.maxStatementBytes, 4_096 - 64)
  })
  // Connections that take more do not help a statement that gets another one.
  await Promise.all(
    [1, 2, 3].map(() => database.transaction((tx) => tx.query('SELECT SLEEP(0.05)'))),
  )
  assert.equal(database.maxStatementBytes, 4_096 - 64)
  await database.close()
})

test('rows in bulk all arrive, however small max_allowed_packet is', async () => {
  const server = await hostileServer()
  const row = fc.tuple(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 50 }),
      fc.string({ unit: fc.constantFrom('\\', `'`, '\0', '漢'), maxLength: 100 }),
    ),
    fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  )
  const bulk = table('bulk', ['id'], 's', 'b', 'n')
  await withMaxPacket(server, 1_024, async () => {
    const database = open(server.url())
    await database.query('DROP TABLE IF EXISTS bulk')
    await database.query(
      'CREATE TABLE bulk (id INT PRIMARY KEY, s VARCHAR(400) CHARACTER SET utf8mb4 COLLATE ' +
        'utf8mb4_bin, b BLOB, n BIGINT)',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 100 }), async (given) => {
        const rows = given.map((values, id) => [id, ...values] as const)
        await database.query('DELETE FROM bulk')
        await database.transaction((tx) => bulk.insert(tx, rows))
        const arrived = await database.query('SELECT id, s, b, n FROM bulk ORDER BY id')
        const exact = (value: unknown) =>
          typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value
        assert.deepEqual(
          arrived.rows.map((found) => Object.values(found)),
          rows.map((values) => values.map(exact)),
        )
      }),
      { numRuns: 30 },
    )
    await database.close()
  })
})

/** Runs `run` while new connections get `bytes` as max_allowed_packet. */
async function withMaxPacket(
  server: MariaDb,
  bytes: number,
  run: () => Promise<void>,
): Promise<void> {
  const admin = open(server.url())
  try {
    await admin.query(`SET GLOBAL max_allowed_packet = ${bytes}`)
    await run()
  } finally {
    await admin.query(`SET GLOBAL max_allowed_packet = ${16 * 1024 * 1024}`)
    await admin.close()
  }
}

test('a wrong password, user or schema has category usage; no password is told', async () => {
  const url = await sharedMysqlUrl()
  const { host, pathname } = new URL(url)
  const wrong = open(url.replace('cache-password', 's3cret'))
  const error = await rejects(wrong.query('SELECT 1'), 'usage', 'ER_ACCESS_DENIED_ERROR')
  assert(
    error.message.startsWith(
      `mysql://${host}${pathname} refuses the connection (ER_ACCESS_DENIED_ERROR): Access ` +
        `denied for user 'wide'@`,
    ),
    error.message,
  )
  assert.match(error.message, /Check user name and password/)
  assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), /s3cret/)
  const missing = open(url.replace(/[^/]*$/, 'missing'))
  const unknown = await rejects(missing.query('SELECT 1'), 'usage', 'ER_BAD_DB_ERROR')
  assert.match(
    unknown.message,
    /\/missing refuses the connection .*user "wide".*CREATE DATABASE `missing`/,
  )
})

test('a connection that ends while the pool hands it over is not used', async () => {
  const sessions = new MysqlSessions(poolOptions(await sharedMysqlUrl())[0]!)
  try {
    const first = await sessions.acquire()
    await first.recycle()
    const next = sessions.acquire()
    // The pool calls back in the next tick.
    for (let n = 0; n < 10; n++) await Promise.resolve()
    first.destroy(new Error('ended'))
    const other = await next
    assert.notEqual(other, first)
    assert.deepEqual((await other.query('SELECT 1 AS n')).rows, [{ n: 1 }])
    await other.recycle()
  } finally {
    await sessions.close()
  }
})

test('a connection that cannot begin leaves its place to another one', async (t) => {
  const options = poolOptions(await sharedMysqlUrl())[0]!
  const sessions = new MysqlSessions({ ...options, connectionLimit: 1 })
  const refused = new DatabaseError('ER_UNKNOWN', 'usage', 'not begun')
  t.mock.method(MysqlSession.prototype, 'begin', () => Promise.reject(refused), { times: 1 })
  try {
    await assert.rejects(sessions.acquire(), /not begun/)
    const other = await sessions.acquire()
    assert.deepEqual((await other.query('SELECT 1 AS n')).rows, [{ n: 1 }])
    await other.recycle()
  } finally {
    await sessions.close()
  }
})

describe('a server that cannot be reached is named, with what to check', () => {
  const refused = async (url: string, message: RegExp) => {
    const error = await rejects(open(url).query('SELECT 1'), 'unreachable')
    assert.match(error.message, message)
    assert.equal(error.unsent, true)
    assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), /s3cret|anna/)
  }
  test('nothing listens', async () => {
    const port = await freePort()
    await refused(
      `mysql://anna:s3cret@127.0.0.1:${port}/site`,
      new RegExp(
        `^mysql://127\\.0\\.0\\.1:${port}/site cannot be reached \\(ECONNREFUSED\\): nothing ` +
          'listens there\\. Check',
      ),
    )
    await refused(
      `mysql://anna:s3cret@localhost:${port}/site`,
      /^mysql:\/\/localhost:\d+\/site cannot be reached \(ECONNREFUSED\): nothing/,
    )
    // Also on a machine that has no IPv6.
    await refused(
      `mysql://anna:s3cret@[::1]:${port}/site`,
      /^mysql:\/\/\[::1\]:\d+\/site cannot be reached/,
    )
  })
  test('nothing listens: what was to be connected is forgotten', async (t) => {
    const options = poolOptions(`mysql://anna@127.0.0.1:${await freePort()}/site`)[0]!
    const sessions = new MysqlSessions(options)
    await rejects(sessions.acquire(), 'unreachable', 'ECONNREFUSED')
    // A socket says that it is closed two turns of the event loop after its error.
    for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve))
    const destroy = t.mock.method(Socket.prototype, 'destroy')
    await sessions.close()
    assert.equal(destroy.mock.callCount(), 0)
  })
  test('an unknown host', () =>
    refused(
      'mysql://anna:s3cret@no-such-host.invalid/site',
      new RegExp(
        String.raw`^mysql:\/\/no-such-host\.invalid:3306\/site ` +
          String.raw`cannot be reached \((?:ENOTFOUND|EAI_AGAIN)\): .*DNS`,
      ),
    ))
  test('a socket that is not there', () =>
    refused(
      'mysql://anna:s3cret@localhost/site?socket=/nowhere/mysql.sock',
      /^MySQL at \/nowhere\/mysql\.sock, schema "site", cannot be reached \(ENOENT\)/,
    ))
  test('silence', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    await refused(
      `mysql://anna:s3cret@127.0.0.1:${port}/site`,
      /:\d+\/site cannot be reached \(ETIMEDOUT\): no answer within 5 s\. Check/,
    )
    silent.close()
  })
  test('no MySQL server', async () => {
    const other = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    await refused(
      `mysql://anna:s3cret@127.0.0.1:${port}/site`,
      /cannot be reached \((?:ECONNRESET|PROTOCOL_CONNECTION_LOST)\): .*those of the database/,
    )
    other.close()
  })
})

test('wrong options say what is wrong at once, and never show the URL', () => {
  const wrong: [string, RegExp][] = [
    ['postgres://u:s3cret@h/db', /option "database" is "postgres:…"; allowed: mysql:\/\//],
    ['mysql://u:s3cret@h', /the name of a schema/],
    ['mysql://u:s3cret@h:99999/db', /cannot be read/],
    ['mysql://u:s3cret@h/db?ssl-mode=s3cret', /option "database, parameter ssl-mode".*required/],
    ['mysql://u:s3cret@h/db?sslaccept=s3cret', /the parameter sslaccept.*ssl-mode/],
    ['mysql://u:s3cret%@h/db', /wrong %/],
    [
      'mysql://u:s3cret@h/db?connectionLimit=0',
      /option "database, parameter connection_limit" is 0; allowed: a whole number from 1 to 1000/,
    ],
    ['mysql://u:s3cret@h/db?ssl={s3cret', /option "database, parameter ssl" is no JSON object/],
  ]
  for (const [url, message] of wrong) {
    assert.throws(
      () => mysql(url),
      (error: Error) =>
        message.test(error.message) &&
        !inspect(error, { depth: 9, showHidden: true }).includes('s3cret'),
      url,
    )
  }
  assert.throws(() => mysql({ database: 'd', hots: 'x' } as never), /is unknown/)
  assert.throws(
    () => mysql({ database: 'd', password: 12345 } as never),
    (error: Error) => error instanceof TypeError && !error.message.includes('12345'),
  )
})

test('options and percent-encoded URLs say the same', async () => {
  const url = new URL(await sharedMysqlUrl())
  const database = url.pathname.slice(1)
  const byOptions = open({
    host: url.hostname,
    port: Number(url.port),
    user: 'wide',
    password: 'cache-password',
    database,
  })
  await byOptions.query('SELECT 1')
  await byOptions.close()
  url.protocol = 'mariadb:'
  const byUrl = open(url.href.replace('cache-password', 'cache%2Dpassword'))
  assert.equal((await byUrl.query('SELECT DATABASE() AS name')).rows[0]?.['name'], database)
  await byUrl.close()
})

test('a user without CREATE works on existing tables, and cannot migrate', async () => {
  const url = new URL(await sharedMysqlUrl())
  const schema = url.pathname.slice(1)
  const admin = open(url.href)
  // MySQL takes names of 32 characters at most.
  const user = `limited_${randomUUID().slice(0, 8)}`
  await admin.query(`CREATE USER '${user}'@'%' IDENTIFIED BY 'cache-password'`)
  await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON \`${schema}\`.* TO '${user}'@'%'`)
  url.username = user
  const limited = open(url.href)
  try {
    const error = await rejects(limited.migrate(), 'usage')
    assert.match(error.code, /ER_.*ACCESS_DENIED/)
    await admin.migrate()
    await limited.migrate()
    assert.deepEqual((await limited.query('SELECT name FROM wide_cache_grids')).rows, [])
  } finally {
    await limited.close()
    await admin.query(`DROP USER '${user}'@'%'`)
    await admin.close()
  }
})

test('upserts name their rows where the server knows it, and cause no warning', async () => {
  assert.deepEqual(
    ['8.0.18', '8.0.19-log', '8.4.6', '9.7.4', '5.5.5-10.11.6-MariaDB', '11.8.2-MariaDB-log'].map(
      knowsRowAlias,
    ),
    [false, true, true, true, false, false],
  )
  const database = open(`${await sharedMysqlUrl()}?connection_limit=1`)
  await database.query(
    'CREATE TABLE counted (id INT PRIMARY KEY, n INT NOT NULL, last INT NOT NULL, name TEXT)',
  )
  const counted = table(
    'counted',
    ['id'],
    ['n', 'add'],
    ['last', 'greatest'],
    ['name', { unlessBelow: 'last' }],
  )
  const rows = [
    [1, 2, 3, 'a'],
    [2, 1, 1, 'b'],
  ] as const
  await counted.upsert(database, rows)
  await database.transaction((tx) => counted.upsert(tx, rows))
  await counted.upsert(database, [...rows, [1, 1, 2, 'old']])
  assert.deepEqual((await database.query('SHOW WARNINGS')).rows, [])
  const [{ sql } = { sql: '' }] = counted.upserts(database, rows)
  assert.equal(/ AS new ON /.test(sql), !onMariadb())
  assert.equal(/VALUES\(/.test(sql), onMariadb())
  const stored = await database.query('SELECT id, n, last, name FROM counted ORDER BY id')
  assert.deepEqual(stored.rows, [
    { id: 1, n: 7, last: 3, name: 'a' },
    { id: 2, n: 3, last: 1, name: 'b' },
  ])
})
