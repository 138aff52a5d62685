/**
 * PostgreSQL on a network and among servers as they are: TLS and sockets, servers that refuse or
 * fall silent, locks of holders that are gone, and connections that something replaces.
 */
import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import pg from 'pg'
import { makeCertificate } from '../../../test/servers/certificate.js'
import { handOver, startPostgres, type Postgres } from '../../../test/servers/postgres.js'
import { removeFolder, temporaryFolder } from '../../../test/servers/process.js'
import { type Relay, startRelay } from '../../../test/servers/relay.js'
import { sharedPostgresUrl } from '../../../test/servers/shared.js'
import { eventually } from '../../support/eventually.fixture.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { SILENT } from '../../support/logger.js'
import { rejects } from '../../testing/rejects.js'
import { DatabaseError } from '../database.js'
import { testErrorCategories } from '../error-categories.suite.js'
import { testDatabaseServerFaults } from '../server-faults.suite.js'
import { postgresError } from './errors.js'
import { SAID } from './said.js'
import { PostgresDatabase } from './postgres.js'
import { poolOptions } from './pool-options.js'
import { PostgresSession } from './session.js'
import { PostgresSessions } from './sessions.js'

const cleanUps: (() => unknown)[] = []
after(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
})

function open(url: string, logger = SILENT): PostgresDatabase {
  const database = new PostgresDatabase(url, 'database', logger)
  cleanUps.push(() => database.close())
  return database
}

async function relayed(url: string): Promise<{ url: string; relay: Relay }> {
  const through = new URL(url)
  const relay = await startRelay(Number(through.port))
  cleanUps.push(() => relay.close())
  through.port = String(relay.port)
  return { url: through.href, relay }
}

async function tableOn(url: string): Promise<PostgresDatabase> {
  const database = open(url)
  await database.query('CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)')
  await database.query('INSERT INTO t VALUES (1, 0), (2, 0)')
  return database
}

const add = (database: PostgresDatabase): Promise<unknown> =>
  database.transaction((tx) => tx.query('UPDATE t SET n = n + 1 WHERE id = 1'))
const nOf = async (database: PostgresDatabase): Promise<unknown> =>
  (await database.query('SELECT n FROM t WHERE id = 1')).rows[0]?.['n']
const never = new Promise<never>(() => undefined)

testDatabaseServerFaults({
  name: 'postgres',
  fresh: sharedPostgresUrl,
  open: (url) => new PostgresDatabase(url),
  sleep: (seconds) => `SELECT pg_sleep(${seconds})`,
  ownId: 'SELECT pg_backend_pid() AS id',
  kill: (id) => `SELECT pg_terminate_backend(${id})`,
})

/** A new user of the database at `url`, with options and rights; returns the URL for it. */
async function userOf(url: string, options: string, rights = 'SELECT'): Promise<string> {
  const own = new URL(url)
  own.username = own.password = `u_${own.pathname.slice(1)}`
  const admin = open(url)
  await admin.query(`CREATE ROLE ${own.username} LOGIN PASSWORD '${own.password}' ${options}`)
  await admin.query(`GRANT ${rights} ON kinds TO ${own.username}`)
  return own.href
}

testErrorCategories({
  name: 'postgres',
  fresh: sharedPostgresUrl,
  open: (url) => new PostgresDatabase(url),
  codes: {
    'a key that exists': '23505',
    NULL: '23502',
    'what a CHECK refuses': '23514',
    'a number out of range': '22003',
    'text for a number': '42804',
    'a refusal of a trigger': 'P0001',
    'a missing table': '42P01',
    'a missing column': '42703',
    'wrong SQL': '42601',
  },
  trigger: [
    'CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS ' +
      "$$ BEGIN RAISE 'it refuses'; END $$",
    'CREATE TRIGGER refuses BEFORE INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION refuses()',
  ],
  own: [
    {
      what: 'text that is too long',
      category: 'data',
      code: '22001',
      run: (on) => on.query('INSERT INTO kinds VALUES (2, 1, ?)', ['s3cret is too long']),
    },
    {
      what: 'a user without the right',
      category: 'usage',
      code: '42501',
      prepare: (_, url) => userOf(url, ''),
      run: (on) => on.query('DELETE FROM kinds'),
    },
    {
      what: 'a user with too many connections',
      category: 'capacity',
      code: '53300',
      prepare: async (_, url) => {
        const own = await userOf(url, 'CONNECTION LIMIT 1')
        const holder = new pg.Client(own)
        await holder.connect()
        cleanUps.push(() => holder.end())
        return own
      },
      run: (on) => on.query('SELECT 1'),
      isUnsent: true,
    },
    {
      what: 'a server that takes no writes',
      category: 'capacity',
      code: '25006',
      prepare: async (database, url) => {
        const own = await userOf(url, '', 'SELECT, DELETE')
        const { username } = new URL(own)
        await database.query(`ALTER ROLE ${username} SET default_transaction_read_only = on`)
        return own
      },
      run: (on) => on.query('DELETE FROM kinds'),
    },
    {
      what: 'a connection that an operator ends',
      category: 'unreachable',
      code: '57P01',
      run: (on) => on.query('SELECT pg_terminate_backend(pg_backend_pid())'),
    },
    {
      what: 'a statement that an operator ends',
      category: 'unreachable',
      code: '57014',
      run: (on) => on.query('SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(9)'),
    },
    {
      what: 'a wrong password',
      category: 'usage',
      code: '28P01',
      prepare: async (_, url) => Object.assign(new URL(url), { password: 's3cret' }).href,
      run: (on) => on.query('SELECT 1'),
      isUnsent: true,
    },
    {
      what: 'a user who may not log in',
      category: 'usage',
      code: '28000',
      prepare: async (database, url) => {
        const own = await userOf(url, '')
        await database.query(`ALTER ROLE ${new URL(own).username} NOLOGIN`)
        return own
      },
      run: (on) => on.query('SELECT 1'),
      isUnsent: true,
    },
    {
      what: 'a database that is not there',
      category: 'usage',
      code: '3D000',
      prepare: async (_, url) => Object.assign(new URL(url), { pathname: '/missing' }).href,
      run: (on) => on.query('SELECT 1'),
      isUnsent: true,
    },
    {
      what: 'a row that is too long for its index',
      category: 'data',
      code: '54000',
      prepare: async (database) => {
        await database.query('CREATE TABLE long (name TEXT PRIMARY KEY)')
      },
      run: (on) =>
        on.query(
          "INSERT INTO long SELECT string_agg(md5(n::text), '') FROM generate_series(1, 999) n",
        ),
    },
  ],
  said: SAID,
  elsewhere: [
    '08',
    '57P05',
    '25P03',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    '40001',
    '55P03',
    '53100',
    '53',
    '58030',
  ],
})

describe('PostgreSQL with TLS', () => {
  const folder = temporaryFolder('postgres-tls')
  const file = (name: string) => join(folder, name)
  let server: Postgres
  before(async () => {
    makeCertificate(folder)
    server = await startPostgres()
    handOver(folder)
    await server.tell(`ALTER SYSTEM SET ssl_cert_file = '${file('cert')}'`)
    await server.tell(`ALTER SYSTEM SET ssl_key_file = '${file('key')}'`)
    await server.tell('ALTER SYSTEM SET ssl = on')
    await server.restart()
  })
  after(async () => {
    await server.stop()
    removeFolder(folder)
  })

  const isEncrypted = async (host: string, parameters: string): Promise<unknown> => {
    const url = server.url().replace('127.0.0.1', host)
    const { rows } = await open(`${url}?${parameters}`).query(
      'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
    )
    return rows[0]?.['ssl']
  }

  test('each sslmode encrypts, and verifies what it says', async () => {
    const root = `sslrootcert=${encodeURIComponent(file('cert'))}`
    assert.equal(await isEncrypted('127.0.0.1', 'sslmode=disable'), 0)
    assert.equal(await isEncrypted('127.0.0.1', 'sslmode=require'), 1)
    assert.equal(await isEncrypted('127.0.0.1', `sslmode=verify-ca&${root}`), 1, 'any name')
    assert.equal(await isEncrypted('localhost', `sslmode=verify-full&${root}`), 1)
    for (const [host, parameters] of [
      ['127.0.0.1', `sslmode=verify-full&${root}`],
      ['localhost', 'sslmode=verify-full'],
      ['localhost', 'sslmode=verify-ca'],
    ] as const) {
      await rejects(isEncrypted(host, parameters), 'usage')
    }
  })

  test('a server without TLS is named where the URL asks for it', async () => {
    const database = open(`${await sharedPostgresUrl()}?sslmode=require`)
    const { message } = await rejects(database.query('SELECT 1'), 'usage')
    assert.match(message, /^postgres:\/\/127\.0\.0\.1:\d+\/\w+ cannot be reached .*SSL/)
  })

  test('a Unix socket works as the same server does', async () => {
    const url = new URL(server.url())
    url.searchParams.set('host', server.socketFolder)
    assert.equal((await open(url.href).query('SELECT 1 AS one')).rows[0]?.['one'], 1)
    url.port = '1'
    const { message } = await rejects(open(url.href).query('SELECT 1'), 'unreachable')
    const socket = `${server.socketFolder}/.s.PGSQL.1`
    assert(
      message.startsWith(`PostgreSQL at ${socket}, database "test", cannot be reached`),
      message,
    )
  })
})

describe('PostgreSQL when the network, a server or a user fails', { concurrency: true }, () => {
  test('what cannot be reached is named, with what to check, and never the password', async () => {
    const url = new URL(await sharedPostgresUrl())
    for (const [change, category, message] of [
      [
        (u: URL) => void (u.password = 's3cret'),
        'usage',
        /password authentication failed for user "wide".*Check user/,
      ],
      [
        (u: URL) => void (u.pathname = '/missing'),
        'usage',
        /database "missing" does not exist.*CREATE DATABASE "missing"/,
      ],
      [(u: URL) => void (u.port = '1'), 'unreachable', /ECONNREFUSED\): nothing listens there/],
      [
        (u: URL) => void (u.hostname = 'missing.invalid'),
        'unreachable',
        /\(E\w+\): the (?:host|DNS)/,
      ],
    ] as const) {
      const wrong = new URL(url)
      change(wrong)
      const error = await rejects(open(wrong.href).query('SELECT 1'), category)
      assert.match(error.message, message)
      assert.equal(error.unsent, true)
      assert(!/s3cret|cache-password/.test(inspect(error)))
    }
  })

  test('a server that is silent is found out, and of its connections only one waits', async () => {
    const { url, relay } = await relayed(await sharedPostgresUrl())
    const database = await tableOn(url)
    await Promise.all(Array.from({ length: 5 }, () => database.query('SELECT pg_sleep(0.2)')))
    relay.loseConnections()
    await rejects(add(database), 'unreachable', 'ETIMEDOUT')
    await Promise.all(Array.from({ length: 5 }, () => database.query('SELECT n FROM t')))
    relay.swallow()
    relay.loseConnections()
    const silent = open(url)
    const { message } = await rejects(silent.query('SELECT 1'), 'unreachable', 'ETIMEDOUT')
    assert.match(message, /cannot be reached \(ETIMEDOUT\): no answer within 5 s/)
  })

  test('locks of a transaction whose connection went silent are free within 30 s', async () => {
    const direct = await sharedPostgresUrl()
    const database = await tableOn(direct)
    const { url, relay } = await relayed(direct)
    let held = () => {}
    const isHeld = new Promise<void>((resolve) => (held = resolve))
    const orphaned = open(url).transaction(async (tx) => {
      await tx.query('UPDATE t SET n = 7 WHERE id = 1')
      held()
      await never
    })
    orphaned.catch(() => undefined)
    await isHeld
    relay.loseConnections()
    await add(database)
    assert.equal(await nOf(database), 1, 'nothing of the orphaned transaction is stored')
  })

  test('a transaction that something has committed is told apart, and is not retried', async () => {
    const url = await sharedPostgresUrl()
    const database = await tableOn(url)
    const pool = new pg.Pool({ connectionString: url })
    cleanUps.push(() => pool.end())
    const client = await pool.connect()
    const session = new PostgresSession(client, { name: 'it', server: 'it' }, (isUseless) =>
      client.release(isUseless),
    )
    const proxied = session.transaction(async ({ prepare }) => {
      await prepare('UPDATE t SET n = n + 1 WHERE id = 1', [])()
      // As a pooler by statement does it, which gives the connection to another user meanwhile.
      await client.query('COMMIT; BEGIN')
      await prepare('UPDATE t SET n = n + 1 WHERE id = 2', [])()
    })
    await rejects(proxied, 'usage', 'DATABASE_TRANSACTION_LOST')
    session.destroy(new Error('the test is over'))
    assert.equal(await nOf(database), 1, 'that part is stored')
  })

  test('a transaction sets all that it relies on, whatever its role has', async () => {
    const hostile = {
      transaction_isolation: 'serializable',
      statement_timeout: '1s',
      lock_timeout: '1s',
      idle_in_transaction_session_timeout: '1s',
      array_nulls: 'off',
    }
    const options = Object.entries(hostile)
      .map(([name, value]) => `-c ${name.replace(/^transaction_/, 'default_$&')}=${value}`)
      .join(' ')
    const pool = new pg.Pool({ connectionString: await sharedPostgresUrl(), options })
    cleanUps.push(() => pool.end())
    const client = await pool.connect()
    const place = { name: 'it', server: 'it' }
    const session = new PostgresSession(client, place, (isUseless) => client.release(isUseless))
    const columns = Object.keys(hostile).map((name) => `current_setting('${name}') AS ${name}`)
    const ask = `SELECT ${columns.join(', ')}`
    assert.deepEqual((await client.query(ask)).rows, [hostile])
    const { rows } = await session.transaction(({ prepare }) => prepare(ask, [])())
    assert.deepEqual(rows, [
      {
        transaction_isolation: 'read committed',
        statement_timeout: '1min',
        lock_timeout: '20s',
        idle_in_transaction_session_timeout: '15s',
        array_nulls: 'on',
      },
    ])
    await session.recycle()
  })

  test('what a statement leaves in its session is gone for the next one', async () => {
    const database = open(`${await sharedPostgresUrl()}?connection_limit=1`)
    const value = async (sql: string) => Object.values((await database.query(sql)).rows[0]!)[0]
    const backend = await value('SELECT pg_backend_pid()')
    await database.query("SET lock_timeout = '7s'")
    await database.query('CREATE TEMPORARY TABLE left_over (n INT)')
    await database.query(`SELECT set_config('work_mem', '77kB', false)`)
    await database.query('SELECT pg_advisory_lock(7)')
    assert.equal(await value(`SELECT current_setting('lock_timeout')`), '0')
    assert.notEqual(await value(`SELECT current_setting('work_mem')`), '77kB')
    await rejects(database.query('SELECT n FROM left_over'), 'usage')
    assert.equal(await value('SELECT COUNT(*) FROM pg_locks WHERE objid = 7'), 0)
    const fails = 'SELECT 1 / length(pg_advisory_lock(8)::text)'
    await rejects(database.query(fails), 'data', '22012')
    assert.equal(await value('SELECT COUNT(*) FROM pg_locks WHERE objid = 8'), 0, 'of a failure')
    await database.transaction(async (tx) => {
      await tx.query(`SELECT set_config('work_mem', '78kB', false)`)
      await tx.query('SELECT 1')
    })
    assert.notEqual(await value(`SELECT current_setting('work_mem')`), '78kB', 'of a transaction')
    await sleep(100)
    assert.equal(await value('SELECT pg_backend_pid()'), backend, 'on the same connection')
    await database.query('BEGIN')
    assert.notEqual(await value('SELECT pg_backend_pid()'), backend, 'an open transaction goes')
  })

  test('a process moves to the host that takes writes, and to none that takes none', async () => {
    const url = await sharedPostgresUrl()
    const [one, other] = [await relayed(url), await relayed(url)]
    const hosts = url.replace(
      /127\.0\.0\.1:\d+/,
      `127.0.0.1:${one.relay.port},127.0.0.1:${other.relay.port}`,
    )
    const [administrator, log] = [await tableOn(url), keptLog()]
    await administrator.migrate(['identity'])
    const database = open(hosts, log)
    await add(database)
    await one.relay.close()
    await add(database).catch(() => undefined)
    await add(database)
    assert(other.relay.connections > 0)
    assert.equal(log.matching(/is now used through .* instead of/).length, 1)
    const name = new URL(url).pathname.slice(1)
    await administrator.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    const fresh = open(hosts)
    const { message } = await rejects(fresh.query('SELECT 1'), 'unreachable')
    assert.match(message, /ECONNREFUSED.*is read-only\. Name a writable host/)
  })

  test('no connection to a server that takes no writes any more is used again', async () => {
    const database = await tableOn(await sharedPostgresUrl())
    const backends = async (): Promise<unknown[]> => {
      const pids = [1, 2, 3].map(() => database.query('SELECT pg_backend_pid() AS pid'))
      return (await Promise.all(pids)).map(({ rows }) => rows[0]!['pid'])
    }
    const before = await backends()
    assert.equal(new Set(before).size, 3)
    const refused = database.transaction(async (tx) => {
      await tx.query("SELECT set_config('transaction_read_only', 'on', true)")
      await tx.query('UPDATE t SET n = 7')
    })
    await rejects(refused, 'capacity', '25006')
    const again = (await backends()).filter((pid) => before.includes(pid))
    assert.deepEqual(again, [])
  })

  test('idle connections of a server that is left are closed at once', async () => {
    const { url, relay } = await relayed(await sharedPostgresUrl())
    // No connection closes because it is idle.
    const sessions = new PostgresSessions({ ...poolOptions(url)[0]!, idleTimeoutMillis: 0 })
    try {
      const three = await Promise.all([1, 2, 3].map(() => sessions.acquire()))
      for (const session of three) await session.recycle()
      assert.equal(relay.connections, 3)
      sessions.leave(new Error('left'))
      await eventually('they are closed', () => relay.connections === 0)
    } finally {
      await sessions.close()
    }
  })

  test('callers that wait for a connection of a server that is left get a new one', async () => {
    const database = await tableOn(`${await sharedPostgresUrl()}?connection_limit=1`)
    let waiting: Promise<unknown> | undefined
    const refused = database.transaction(async (tx) => {
      await tx.query("SELECT set_config('transaction_read_only', 'on', true)")
      waiting = nOf(database)
      await tx.query('INSERT INTO t VALUES (3, 0)')
    })
    await rejects(refused, 'capacity', '25006')
    assert.equal(await waiting, 0)
  })

  test('text in messages is never a value', async () => {
    const database = await tableOn(await sharedPostgresUrl())
    for (const [sql, values] of [
      ['SELECT CAST(? AS BIGINT)', ['s3cret']],
      ['SELECT * FROM t WHERE id = ?', ['s3cret']],
      ['SELECT ? nonsense s3cret nonsense', [1]],
      ["DO $$ BEGIN RAISE 's3cret'; END $$", []],
    ] as const) {
      const failed: unknown = await database.query(sql, values).catch((error: unknown) => error)
      assert(failed instanceof DatabaseError, sql)
      // What an exception of the operator's own trigger says is text, and may be about a row.
      if (!sql.startsWith('DO')) assert(!inspect(failed).includes('s3cret'), inspect(failed))
    }
  })
})

test('close() ends attempts to connect first, and has forgotten those that failed', async (t) => {
  const { url, relay } = await relayed(await sharedPostgresUrl())
  relay.swallow()
  const refused = new URL(url)
  refused.port = '1'
  const destroyedBy = async (sessions: PostgresSessions): Promise<number> => {
    const destroy = t.mock.method(Socket.prototype, 'destroy')
    const closing = sessions.close()
    const count = destroy.mock.callCount()
    destroy.mock.restore()
    await closing
    return count
  }
  const failed = new PostgresSessions(poolOptions(refused.href)[0]!)
  await rejects(failed.acquire(), 'unreachable', 'ECONNREFUSED')
  // A socket says that it is closed two turns of the event loop after its error.
  for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(await destroyedBy(failed), 0)
  const silent = new PostgresSessions(poolOptions(url)[0]!)
  const waiting = rejects(silent.acquire(), 'usage')
  assert.equal(await destroyedBy(silent), 1)
  await waiting
})

test('each SQLSTATE has its category, and a remedy where one is known', () => {
  const of = (code: string) =>
    postgresError(Object.assign(new Error('it "s3cret" fails'), { code, severity: 'ERROR' }))
  for (const [code, category, message] of [
    ['40P01', 'lock', /: retry its work$/],
    ['40001', 'lock', /: retry its work$/],
    ['55P03', 'lock', /Keep transactions short/],
    ['57P01', 'unreachable', /^57P01/],
    ['25P03', 'unreachable', /^25P03/],
    ['53100', 'capacity', /Free space/],
    ['53300', 'capacity', /max_connections/],
    ['25006', 'capacity', /takes writes/],
    ['23505', 'data', /^23505/],
    ['P0001', 'data', /^P0001/],
    ['42804', 'data', /^42804/],
    ['54000', 'data', /^54000/],
    ['42P01', 'usage', /wide-cache migrate/],
    ['42501', 'usage', /SELECT, INSERT, UPDATE and DELETE/],
  ] as const) {
    assert.equal(of(code).category, category, code)
    assert.match(of(code).message, message)
  }
  assert(!of('22P02').message.includes('s3cret'))
})
