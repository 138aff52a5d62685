/**
 * MySQL on a network and among servers as they are: connections that go silent, holders of locks
 * that are gone or forgotten, a failover whose old primary lives on. Most of it is waiting, so all
 * tests run at the same time.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import { SILENT } from '../../support/logger.js'
import type { DatabaseError } from '../database.js'
import { rejects } from '../../testing/rejects.js'
import { testErrorCategories } from '../error-categories.suite.js'
import { testDatabaseServerFaults } from '../server-faults.suite.js'
import { MysqlDatabase } from './mysql.js'
import { SAID } from './said.js'
import { onMariadb, startMariadb, type MariaDb } from '../../../test/servers/mariadb.js'
import { sharedMysqlUrl } from '../../../test/servers/shared.js'

/**
 * A TCP proxy whose new connections go to `target`; those that are there may be frozen: silent, and
 * open on both sides.
 */
class SwitchableTcp {
  target: number
  readonly #server: Server
  readonly #open = new Set<{ client: Socket; upstream: Socket; frozen: boolean }>()

  constructor(target: number) {
    this.target = target
    this.#server = createServer((client) => {
      const pair = { client, upstream: connect(this.target, '127.0.0.1'), frozen: false }
      this.#open.add(pair)
      const ended = (other: Socket) => () => {
        if (!pair.frozen) other.destroy()
      }
      client
        .on('data', (data) => pair.frozen || pair.upstream.write(data))
        .on('close', ended(pair.upstream))
        .on('error', () => undefined)
      pair.upstream
        .on('data', (data) => pair.frozen || client.write(data))
        .on('close', ended(client))
        .on('error', () => undefined)
    })
  }

  async listen(): Promise<number> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    return (this.#server.address() as AddressInfo).port
  }

  freeze(): void {
    for (const pair of this.#open) pair.frozen = true
  }

  close(): void {
    this.#server.close()
    for (const { client, upstream } of this.#open) {
      client.destroy()
      upstream.destroy()
    }
  }
}

const cleanUps: (() => unknown)[] = []
after(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
})

async function proxied(url: string): Promise<{ url: string; proxy: SwitchableTcp }> {
  const through = new URL(url)
  const proxy = new SwitchableTcp(Number(through.port))
  through.port = String(await proxy.listen())
  cleanUps.push(() => proxy.close())
  return { url: through.href, proxy }
}

function open(url: string): MysqlDatabase {
  const database = new MysqlDatabase(url)
  cleanUps.push(() => database.close())
  return database
}

/** Servers that are started before all tests, because making their folders slows tests of times. */
const SERVERS = {
  impatient: [
    '--wait-timeout=1',
    '--net-read-timeout=1',
    // MySQL has none of these.
    '--loose-idle-transaction-timeout=1',
    '--loose-idle-write-transaction-timeout=1',
    '--loose-idle-readonly-transaction-timeout=1',
  ],
  oldPrimary: [],
  newPrimary: [],
  statements: ['--log-bin', '--binlog-format=STATEMENT', '--server-id=1'],
  unlogged: ['--binlog-format=STATEMENT'],
}
const servers = new Map<string, MariaDb>()
before(async () => {
  for (const [name, options] of Object.entries(SERVERS)) {
    const started = await startMariadb(options)
    servers.set(name, started)
    cleanUps.push(() => started.stop())
  }
})

function server(name: keyof typeof SERVERS): MariaDb {
  const started = servers.get(name)
  assert(started)
  return started
}

async function tableOn(url: string): Promise<MysqlDatabase> {
  const database = open(url)
  await database.query('CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB')
  await database.query('INSERT INTO t VALUES (1, 0), (2, 0)')
  return database
}

/** Makes both tell the same id, as replication does. */
async function sameDatabase(url: string, replica: string): Promise<void> {
  const [one, other] = [open(url), open(replica)]
  await Promise.all([one, other].map((database) => database.migrate(['identity'])))
  const { rows } = await one.query('SELECT id FROM wide_cache_identity')
  await other.query('UPDATE wide_cache_identity SET id = ?', [rows[0]?.['id'] ?? null])
}

const add = (database: MysqlDatabase): Promise<unknown> =>
  database.transaction((tx) => tx.query('UPDATE t SET n = n + 1 WHERE id = 1'))
/** All five connections of the pool are made, and idle. */
const warmUp = (database: MysqlDatabase): Promise<unknown> =>
  Promise.all(Array.from({ length: 5 }, () => database.query('SELECT SLEEP(0.2)')))
const never = new Promise<never>(() => undefined)

/**
 * A user who may do what a site does, and neither see others' connections nor write where read_only
 * is set.
 */
async function limited(url: string): Promise<string> {
  const to = new URL(url)
  const schema = to.pathname.slice(1)
  // The same on both servers of a failover; MySQL takes names of 32 characters at most.
  const name = `limited_${schema}`.slice(0, 32)
  const admin = open(url)
  await admin.query(`CREATE USER '${name}'@'%' IDENTIFIED BY 'cache-password'`)
  await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON \`${schema}\`.* TO '${name}'@'%'`)
  to.username = name
  return to.href
}

testDatabaseServerFaults({
  name: 'mysql',
  fresh: sharedMysqlUrl,
  open: (url) => new MysqlDatabase(url),
  sleep: (seconds) => `SELECT SLEEP(${seconds})`,
  ownId: 'SELECT CONNECTION_ID() AS id',
  kill: (id) => `KILL CONNECTION ${id}`,
})

/** A new user of the database at `url`, with what `grant` says; returns the URL for it. */
async function userOf(url: string, rights: string, options = ''): Promise<string> {
  const own = new URL(url)
  const schema = own.pathname.slice(1)
  own.username = own.password = `u_${schema}`.slice(0, 32)
  const admin = open(url)
  await admin.query(`CREATE USER '${own.username}'@'%' IDENTIFIED BY '${own.password}' ${options}`)
  await admin.query(`GRANT ${rights} ON \`${schema}\`.* TO '${own.username}'@'%'`)
  return own.href
}

testErrorCategories({
  name: 'mysql',
  fresh: sharedMysqlUrl,
  open: (url) => new MysqlDatabase(url),
  codes: {
    'a key that exists': 'ER_DUP_ENTRY',
    NULL: 'ER_BAD_NULL_ERROR',
    'what a CHECK refuses': onMariadb() ? 'ER_CONSTRAINT_FAILED' : 'ER_CHECK_CONSTRAINT_VIOLATED',
    'a number out of range': 'ER_WARN_DATA_OUT_OF_RANGE',
    'text for a number': 'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD',
    'a refusal of a trigger': 'ER_SIGNAL_EXCEPTION',
    'a missing table': 'ER_NO_SUCH_TABLE',
    'a missing column': 'ER_BAD_FIELD_ERROR',
    'wrong SQL': 'ER_PARSE_ERROR',
  },
  trigger: ["CREATE TRIGGER refuses BEFORE INSERT ON kinds FOR EACH ROW SIGNAL SQLSTATE '45000'"],
  own: [
    {
      what: 'text that is too long',
      category: 'data',
      code: 'ER_DATA_TOO_LONG',
      run: (on) => on.query('INSERT INTO kinds VALUES (2, 1, ?)', ['s3cret is too long']),
    },
    {
      what: 'a row that a view refuses',
      category: 'data',
      code: 'ER_VIEW_CHECK_FAILED',
      prepare: async (database) => {
        await database.query(
          'CREATE VIEW seen AS SELECT id, n, name FROM kinds WHERE n < 10 WITH CHECK OPTION',
        )
      },
      run: (on) => on.query("INSERT INTO seen VALUES (2, 50, 's3cret')"),
    },
    {
      what: 'a row for which there is no partition',
      category: 'data',
      code: 'ER_NO_PARTITION_FOR_GIVEN_VALUE',
      prepare: async (database) => {
        await database.query('DROP TABLE IF EXISTS parts')
        await database.query(
          'CREATE TABLE parts (n INT) PARTITION BY RANGE (n) (PARTITION p VALUES LESS THAN (9))',
        )
      },
      run: (on) => on.query('INSERT INTO parts VALUES (?)', [99]),
    },
    {
      what: 'a user without the right',
      category: 'usage',
      code: 'ER_TABLEACCESS_DENIED_ERROR',
      prepare: (_, url) => userOf(url, 'SELECT'),
      run: (on) => on.query('DELETE FROM kinds'),
    },
    {
      what: 'a user with too many connections',
      category: 'capacity',
      code: 'ER_USER_LIMIT_REACHED',
      prepare: async (_, url) => {
        const own = await userOf(url, 'SELECT', 'WITH MAX_USER_CONNECTIONS 1')
        const holder = await createConnection(own)
        cleanUps.push(() => holder.destroy())
        return own
      },
      run: (on) => on.query('SELECT 1'),
      isUnsent: true,
    },
    {
      what: 'a user who has asked too often to begin a session',
      category: 'capacity',
      code: 'ER_USER_LIMIT_REACHED',
      prepare: (_, url) => userOf(url, 'SELECT', 'WITH MAX_QUERIES_PER_HOUR 1'),
      run: (on) => on.query('SELECT 1'),
      isUnsent: true,
    },
    {
      what: 'a wrong password',
      category: 'usage',
      code: 'ER_ACCESS_DENIED_ERROR',
      prepare: async (_, url) => changed(url, { password: 's3cret' }),
      run: (on) => on.query('SELECT 1'),
      isUnsent: true,
    },
    {
      what: 'a user who is locked',
      category: 'usage',
      code: 'ER_ACCOUNT_HAS_BEEN_LOCKED',
      prepare: (_, url) => userOf(url, 'SELECT', 'ACCOUNT LOCK'),
      run: (on) => on.query('SELECT 1'),
      isUnsent: true,
    },
    {
      what: 'a schema that is not there',
      category: 'usage',
      code: 'ER_BAD_DB_ERROR',
      prepare: async (_, url) => changed(url, { pathname: '/missing' }),
      run: (on) => on.query('SELECT 1'),
      isUnsent: true,
    },
    {
      what: 'a schema of others',
      category: 'usage',
      code: 'ER_DBACCESS_DENIED_ERROR',
      prepare: async (_, url) => changed(await userOf(url, 'SELECT'), { pathname: '/mysql' }),
      run: (on) => on.query('SELECT 1'),
      isUnsent: true,
    },
    {
      what: 'a result that is longer than a packet',
      category: 'data',
      code: 'ER_WARN_ALLOWED_PACKET_OVERFLOWED',
      run: (on) => on.query("UPDATE kinds SET name = REPEAT('x', 200000000)"),
    },
    {
      what: 'a procedure that is not there',
      category: 'usage',
      code: 'ER_SP_DOES_NOT_EXIST',
      run: (on) => on.query('SELECT missing(1)'),
    },
  ],
  said: SAID,
  // A server says all of them in errors.test.ts.
  elsewhere: [
    'HANDSHAKE_NO_SSL_SUPPORT',
    'HANDSHAKE_SSL_ERROR',
    'HANDSHAKE_UNKNOWN_ERROR',
    'AUTH_SWITCH_PLUGIN_ERROR',
    'ER_BAD_HOST_ERROR',
    'ER_HOST_IS_BLOCKED',
    'ER_SERVER_SHUTDOWN',
    'ER_NET_FCNTL_ERROR',
    'ER_CLIENT_INTERACTION_TIMEOUT',
    'ER_QUERY_TIMEOUT',
    'ER_ERROR_DURING_COMMIT',
    'ER_MUST_CHANGE_PASSWORD_LOGIN',
    'ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK',
    'ER_HOST_NOT_PRIVILEGED',
    'ER_SECURE_TRANSPORT_REQUIRED',
    'ER_LOCK_WAIT_TIMEOUT',
    'ER_LOCK_DEADLOCK',
    'EE_WRITE',
    'ER_CANT_LOCK',
    'ER_OUTOFMEMORY',
    'ER_CON_COUNT_ERROR',
    'ER_OPTION_PREVENTS_STATEMENT',
    'ER_SERVER_OFFLINE_MODE',
    'ER_RUN_HOOK_ERROR',
    'ER_BEFORE_DML_VALIDATION_ERROR',
    'ER_TRANS_CACHE_FULL',
    'ER_BINLOG_STMT_MODE_AND_ROW_ENGINE',
  ],
})

function changed(url: string, parts: { password?: string; pathname?: string }): string {
  return Object.assign(new URL(url), parts).href
}

describe('MySQL when the network or a server fails', { concurrency: true }, () => {
  test('locks of a transaction whose connection went silent are free within 30 s', async () => {
    const direct = await sharedMysqlUrl()
    const database = await tableOn(direct)
    const { url, proxy } = await proxied(direct)
    let held = () => {}
    const isHeld = new Promise<void>((resolve) => (held = resolve))
    const orphaned = open(url).transaction(async (tx) => {
      await tx.query('UPDATE t SET n = 7 WHERE id = 1')
      held()
      await never
    })
    orphaned.catch(() => undefined)
    await isHeld
    proxy.freeze()
    const since = performance.now()
    await add(database)
    const waited = performance.now() - since
    assert.ok(waited > 1_000 && waited < 30_000, `${waited} ms`)
    assert.equal(
      (await database.query('SELECT n FROM t WHERE id = 1')).rows[0]?.['n'],
      1,
      'nothing of the orphaned transaction is stored',
    )
  })

  test('a transaction that is idle is rolled back after 10 s, by name', async () => {
    const database = await tableOn(await sharedMysqlUrl())
    const since = performance.now()
    const idle = database.transaction(async (tx) => {
      await tx.query('UPDATE t SET n = 7')
      await never
    })
    const error = await rejects(idle, 'usage', 'DATABASE_TRANSACTION_IDLE')
    assert.match(error.message, /10 s/)
    assert.ok(performance.now() - since >= 9_000)
    await add(database)
    assert.equal((await database.query('SELECT n FROM t WHERE id = 1')).rows[0]?.['n'], 1)
  })

  test('a lock-wait timeout names who holds the lock, where the rights allow it', async () => {
    const url = await sharedMysqlUrl()
    const database = await tableOn(url)
    const other = open(await limited(url))
    const forgotten = await createConnection(url)
    cleanUps.push(() => forgotten.destroy())
    await forgotten.query('START TRANSACTION')
    await forgotten.query('UPDATE t SET n = 9 WHERE id = 1')
    await database.query('CREATE TABLE locked (n INT) ENGINE=InnoDB')
    const locking = await createConnection(url)
    cleanUps.push(() => locking.destroy())
    await locking.query('LOCK TABLES locked READ')
    const [seen, unseen, ofTable] = await Promise.all([
      rejects(add(database), 'lock', 'ER_LOCK_WAIT_TIMEOUT'),
      rejects(add(other), 'lock', 'ER_LOCK_WAIT_TIMEOUT'),
      rejects(database.query('INSERT INTO locked VALUES (1)'), 'lock', 'ER_LOCK_WAIT_TIMEOUT'),
    ])
    assert.match(
      seen.message,
      new RegExp(
        `Connection ${forgotten.threadId} from 127\\.0\\.0\\.1:\\d+ holds the lock and has ` +
          `been idle for 1\\d s.*KILL ${forgotten.threadId}$`,
      ),
    )
    assert.doesNotMatch(seen.message, /wide/)
    for (const { message } of [unseen, ofTable]) {
      assert.match(message, /not shown: somebody ran LOCK TABLES .*right PROCESS\. Ask SHOW FULL/)
      assert.doesNotMatch(message, /KILL/)
    }
  })

  test('idle connections are closed before the server does it; none of them is used', async () => {
    const { url, socket } = server('impatient')
    const database = open(url())
    const root = await createConnection({ socketPath: socket, user: 'root' })
    cleanUps.push(() => root.destroy())
    const value = async (sql: string) =>
      Object.values(((await root.query(sql))[0] as Record<string, unknown>[])[0] ?? {}).at(-1)
    await root.query('SET SESSION wait_timeout = 600')
    await warmUp(database)
    const aborted = await value(`SHOW GLOBAL STATUS LIKE 'Aborted_clients'`)
    await setTimeout(3_000)
    const others =
      'SELECT COUNT(*) FROM information_schema.processlist ' +
      `WHERE host <> 'localhost' AND db = 'test'`
    assert.equal(Number(await value(others)), 5, 'the wait_timeout of the server is not ours')
    await setTimeout(11_000)
    assert.equal(Number(await value(others)), 0)
    assert.equal(await value(`SHOW GLOBAL STATUS LIKE 'Aborted_clients'`), aborted)
    await warmUp(database)
    await warmUp(database)
  })

  test("transactions that pause for less than 10 s survive the server's idle limit", async () => {
    await server('impatient').createDatabase('pausing')
    const database = await tableOn(server('impatient').url('pausing'))
    for (const sql of ['SELECT n FROM t', 'UPDATE t SET n = n + 1 WHERE id = 1']) {
      await database.transaction(async (tx) => {
        await tx.query(sql)
        await setTimeout(2_500)
        await tx.query(sql)
      })
    }
    assert.equal((await database.query('SELECT n FROM t WHERE id = 1')).rows[0]?.['n'], 2)
    await database.close()
  })

  test('of five idle connections that went silent only one is waited for', async () => {
    const { url, proxy } = await proxied(await sharedMysqlUrl())
    const database = await tableOn(url)
    await warmUp(database)
    proxy.freeze()
    const since = performance.now()
    await rejects(add(database), 'unreachable', 'ETIMEDOUT')
    await Promise.all(Array.from({ length: 5 }, () => database.query('SELECT n FROM t')))
    assert.ok(performance.now() - since < 30_000)
  })

  test('after a failover to a new primary, one statement fails, the next ones work', async () => {
    const [old, now] = [server('oldPrimary'), server('newPrimary')]
    await Promise.all([old, now].map(({ url }) => tableOn(url())))
    const [limitedUrl] = await Promise.all([limited(old.url()), limited(now.url())])
    const { url, proxy } = await proxied(limitedUrl)
    const database = open(url)
    const ofBoth = limitedUrl.replace(`:${old.port}/`, `:${old.port},127.0.0.1:${now.port}/`)
    const moving = new MysqlDatabase(ofBoth, 'database', SILENT)
    cleanUps.push(() => moving.close())
    await sameDatabase(old.url(), now.url())
    await add(moving)
    await add(database)
    await warmUp(database)

    proxy.target = now.port
    await open(old.url()).query('SET GLOBAL read_only = 1')
    const busyMeanwhile = database.query('SELECT SLEEP(1)')
    await setTimeout(100)
    await rejects(add(database), 'capacity', 'ER_OPTION_PREVENTS_STATEMENT')
    await busyMeanwhile
    const ports = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const { rows } = await database.query('SELECT @@port AS port, SLEEP(0.1)')
        return rows[0]?.['port']
      }),
    )
    assert.deepEqual(new Set(ports), new Set([now.port]), 'nobody reads from the old one any more')
    await Promise.all(Array.from({ length: 10 }, () => add(database)))
    assert.equal((await open(now.url()).query('SELECT n FROM t WHERE id = 1')).rows[0]?.['n'], 10)

    // The same with both hosts in the URL, and no address that is switched.
    await rejects(add(moving), 'capacity', 'ER_OPTION_PREVENTS_STATEMENT')
    await add(moving)
    const fresh = new MysqlDatabase(ofBoth, 'database', SILENT)
    cleanUps.push(() => fresh.close())
    await add(fresh)
    assert.equal((await fresh.query('SELECT @@port AS port')).rows[0]?.['port'], now.port)
  })

  test('a server in offline mode is left for another, and alone is waited for', async (t) => {
    if (onMariadb()) return t.skip('MariaDB has no such mode')
    const [old, now] = [server('unlogged'), server('newPrimary')]
    await Promise.all([old, now].map(({ createDatabase }) => createDatabase('offline')))
    const [oldUrl, nowUrl] = [old.url('offline'), now.url('offline')]
    await Promise.all([oldUrl, nowUrl].map((url) => tableOn(url)))
    const [limitedUrl] = await Promise.all([limited(oldUrl), limited(nowUrl)])
    await sameDatabase(oldUrl, nowUrl)
    const ofBoth = limitedUrl.replace(`:${old.port}/`, `:${old.port},127.0.0.1:${now.port}/`)
    const moving = new MysqlDatabase(ofBoth, 'database', SILENT)
    cleanUps.push(() => moving.close())
    await add(moving)
    const root = await createConnection({ socketPath: old.socket, user: 'root' })
    cleanUps.push(() => root.destroy())
    await root.query('SET GLOBAL offline_mode = ON')
    try {
      await rejects(add(open(limitedUrl)), 'capacity', 'ER_SERVER_OFFLINE_MODE')
      await add(moving).catch(() => undefined)
      await add(moving)
      assert.equal((await moving.query('SELECT @@port AS port')).rows[0]?.['port'], now.port)
    } finally {
      await root.query('SET GLOBAL offline_mode = OFF')
    }
  })

  test('binlog_format=STATEMENT refuses migrations, with a remedy; MIXED is fine', async () => {
    const strict = server('statements')
    const database = open(strict.url())
    const error: DatabaseError = await rejects(
      database.migrate(),
      'usage',
      'DATABASE_BINLOG_FORMAT',
    )
    assert.match(
      error.message,
      /binlog_format is STATEMENT; allowed: ROW, MIXED.*SET GLOBAL binlog_format/,
    )
    assert.deepEqual((await database.query('SHOW TABLES')).rows, [])
    await database.close()
    const admin = open(strict.url())
    await admin.query(`SET GLOBAL binlog_format = 'MIXED'`)
    const allowed = open(strict.url())
    await allowed.migrate()
    await admin.query(`SET GLOBAL binlog_format = 'STATEMENT'`)
    const late = await rejects(
      open(strict.url()).query('INSERT INTO wide_cache_migrations VALUES (?, 99, ?, 0, 99)', [
        'x',
        'x',
      ]),
      'usage',
      'ER_BINLOG_STMT_MODE_AND_ROW_ENGINE',
    )
    assert.match(late.message, /binlog_format/i)
    await open(server('unlogged').url()).migrate()
  })
})
