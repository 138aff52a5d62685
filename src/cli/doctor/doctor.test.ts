import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { createActivity } from '../../activity/site-activity.js'
import { memcached } from '../../cache/memcached/memcached.js'
import { appendOrAdd } from '../../cache/append-or-add.js'
import { memory } from '../../cache/memory.js'
import { marksKey } from '../../connections/namespace.js'
import type { Database } from '../../database/database.js'
import { namespaceOf } from '../../database/identity.js'
import { mysql } from '../../database/mysql/mysql.js'
import { openDatabase } from '../../database/open.js'
import { postgres } from '../../database/postgres/postgres.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { DAY_MS } from '../../support/clock.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { freePort } from '../../../test/servers/free-port.js'
import { removeFolder, temporaryFolder } from '../../../test/servers/process.js'
import { sharedMemcached, sharedMysqlUrl, sharedPostgresUrl } from '../../../test/servers/shared.js'
import { wrapped } from '../../../test/servers/wrapped.js'
import { commandOf } from '../arguments.js'
import { collect } from '../collect.js'
import { doctor } from './doctor.js'
import type { Finding } from './finding.js'
import { checkServerLists, checkVisitors } from './records.js'
import { checkWholeWay, DOCTOR_KIND } from './whole-way.js'

const folder = temporaryFolder('doctor')
after(() => removeFolder(folder))
let files = 0

interface Asked {
  readonly database: string
  readonly cache?: string
  readonly clock?: ManualClock
  readonly stop?: AbortSignal
}

async function run({ database, cache = 'memory:', clock, stop }: Asked) {
  let printed = ''
  const status = await doctor(
    { database, cache, json: true },
    keptLog(),
    (text) => (printed += text),
    stop ?? new AbortController().signal,
    clock,
  )
  const { findings } = JSON.parse(printed) as { findings: Finding[] }
  /** The findings of a check, each as its severity and cause. */
  const of = (check: string): string[] =>
    findings
      .filter((finding) => finding.check === check)
      .map(({ severity, cause }) => `${severity}: ${cause}`)
  for (const { severity, remedy } of findings) assert.equal(severity === 'ok', !remedy)
  return { status, printed, findings, of }
}

/** A database with an activity that has some visits. */
async function site({
  visits = 3,
  cache,
  at = Date.now(),
}: { visits?: number; cache?: string; at?: number } = {}) {
  const url = `sqlite:${join(folder, `${files++}.db`)}`
  const activity = createActivity({
    database: url,
    cache: cache ?? 'memory:',
    collect: false,
    logger: keptLog(),
  })
  for (let visit = 0; visit < visits; visit++) {
    activity.record({ page: '/', visitor: visits > 100 ? 'proxy' : `v${visit}`, at })
  }
  await activity.flush()
  await activity.drain({ all: true })
  await activity.drain()
  await activity.close()
  const database = sqlite(url.slice('sqlite:'.length))
  after(() => database.close())
  return { url, database }
}

/** A proxy that changes a letter of each text that looks like a random id. */
async function mangling(target: string): Promise<{ address: string; close(): void }> {
  const [host, port] = target.split(':')
  const server = createServer((client) => {
    const upstream = connect(Number(port), host)
    client.on('data', (data) => {
      const text = data.toString('latin1')
      const changed = text.replace(/"[0-9a-f]{8}(?=-[0-9a-f]{4}-)/g, '"00000000')
      upstream.write(Buffer.from(changed, 'latin1'))
    })
    upstream.pipe(client)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => undefined).on('close', () => other.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: own } = server.address() as AddressInfo
  return { address: `127.0.0.1:${own}`, close: () => void server.close() }
}

async function nothingLeft(database: Database): Promise<void> {
  for (const [table, of] of [
    ['names', 'name'],
    ['grids', 'name'],
    ['writers', 'name'],
    ['quarantine', 'name'],
  ] as const) {
    const { rows } = await database.query(
      `SELECT ${of} FROM wide_cache_${table} WHERE name LIKE 'doctor.%'`,
    )
    assert.deepEqual(rows, [], table)
  }
}

for (const [server, fresh] of [
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
] as const) {
  test(`${server}: a healthy site has no warning, and nothing of the doctor is left`, async () => {
    const url = await fresh()
    const cache = await sharedMemcached()
    const activity = createActivity({ database: url, cache, collect: false, logger: keptLog() })
    activity.record({ page: '/' })
    await activity.flush()
    await activity.close()
    const { findings, of } = await run({ database: url, cache })
    const others = findings.filter(({ check }) => check !== 'cache')
    assert.deepEqual(
      others.filter(({ severity }) => severity !== 'ok'),
      [],
    )
    assert.match(of('database')[0]!, /^ok: (?:MariaDB|MySQL|PostgreSQL) \d+(?:\.\d+)+$/)
    assert.match(
      of('whole way')[0]!,
      /^ok: a row went through the cache into the database in \d+ ms$/,
    )
    assert.equal(of('cache').length, 1)
    const { database } = openDatabase(url)
    await nothingLeft(database)
    const { rows } = await database.query('SELECT id FROM wide_cache_grids')
    assert.equal(rows.length, 1)
    await database.close()
  })
}

test('the whole way closes all that it has opened', async () => {
  const file = join(folder, `${files++}.db`)
  const database = sqlite(file)
  await database.migrate()
  await database.close()
  const findings = await checkWholeWay(`sqlite:${file}`, 'memory:', new AbortController().signal)
  assert.deepEqual(
    findings.map(({ severity }) => severity),
    ['ok'],
  )
  assert.equal(existsSync(`${file}-wal`), false)
})

test('PostgreSQL: missing rights are found, with the tables, and never the password', async () => {
  const url = await sharedPostgresUrl()
  const database = postgres(url)
  await database.migrate(['wide-cache', 'counters'])
  const user = `r_${new URL(url).pathname.slice(3, 20)}`
  await database.query(`CREATE ROLE ${user} LOGIN PASSWORD 's3cret'`)
  await database.query(`GRANT SELECT, UPDATE, INSERT ON ALL TABLES IN SCHEMA public TO ${user}`)
  const restricted = new URL(url)
  restricted.username = user
  restricted.password = 's3cret'
  const { status, of, printed } = await run({ database: restricted.href })
  assert.equal(status, 1)
  assert.match(
    of('rights')[0]!,
    /^error: DELETE is refused on wide_cache_names, .* and \d more: 42501: permission denied for/,
  )
  assert.deepEqual(of('whole way'), [])
  assert(!printed.includes('s3cret'))
  await database.query(`DROP OWNED BY ${user}`)
  await database.query(`DROP ROLE ${user}`)
  await database.close()
})

test('missing rights are found, with the tables, and stop a collector', async () => {
  const url = await sharedMysqlUrl()
  const database = mysql(url)
  await database.migrate(['wide-cache', 'counters'])
  const schema = new URL(url).pathname.slice(1)
  const user = schema.slice(0, 30)
  await database.query(`CREATE USER '${user}'@'%' IDENTIFIED BY 's3cret'`)
  await database.query(`GRANT SELECT, UPDATE, INSERT ON \`${schema}\`.* TO '${user}'@'%'`)
  const restricted = new URL(url)
  restricted.username = user
  restricted.password = 's3cret'
  const { status, of, printed } = await run({ database: restricted.href })
  assert.equal(status, 1)
  assert.equal(of('rights').length, 1)
  assert.match(
    of('rights')[0]!,
    /^error: DELETE is refused on wide_cache_names, .* and \d more: ER_TABLEACCESS_DENIED_ERROR: /,
  )
  assert.deepEqual(of('whole way'), [])
  assert(!printed.includes('s3cret'))
  const asked = commandOf(['collect', '--database', restricted.href])
  assert(asked.command === 'collect')
  await assert.rejects(
    collect(
      { ...asked.options, cache: await sharedMemcached() },
      keptLog(),
      new AbortController().signal,
    ),
    /DELETE command denied to user .* for table .*wide_cache_writers/,
  )
  await database.query(`DROP USER '${user}'@'%'`)
  await database.close()
})

describe('a site in trouble', () => {
  test('a cache server that is away, and the way that frames take then', async () => {
    const { url, database } = await site()
    const { status, of } = await run({ database: url, cache: `127.0.0.1:${await freePort()}` })
    assert.equal(status, 1)
    assert.match(of('cache')[0]!, /^error: memcached 127\.0\.0\.1:\d+ cannot be reached/)
    assert.match(of('whole way')[0]!, /^warning: the cache did not take a frame/)
    await nothingLeft(database)
  })

  test('collectors that use another cache', async () => {
    const { url, database } = await site({ cache: await sharedMemcached() })
    const cache = await sharedMemcached()
    const key = marksKey(await namespaceOf(database))
    const mark = Buffer.alloc(16, 7)
    await database.query('UPDATE wide_cache_grids SET mark = ?', [mark])
    const apart = await run({ database: url, cache })
    assert.match(apart.of('server lists')[0]!, /^error: the collectors of activity use another/)
    const client = memcached(cache)
    assert(await appendOrAdd(client, key, mark, 60))
    await client.close()
    const same = await run({ database: url, cache })
    assert.deepEqual(same.of('server lists'), ['ok: collectors use the same cache'])
    const away = await run({ database: url, cache: `127.0.0.1:${await freePort()}` })
    assert.deepEqual(away.of('server lists'), [], 'nobody knows')
    const without = await run({ database: url })
    assert.match(without.of('cache')[0]!, /^error: processes of this site use cache servers/)
  })

  test('a collector writes its mark between the two questions, at most twice', async () => {
    const { database } = await site({ cache: await sharedMemcached() })
    const mark = Buffer.alloc(16, 7)
    await database.query('UPDATE wide_cache_grids SET mark = ?', [mark])
    for (const [late, severity] of [
      [2, 'ok'],
      [3, 'error'],
    ] as const) {
      let asked = 0
      const cache = wrapped(memory(), {
        scope: 'shared',
        get: async () => (asked++ < late ? Buffer.alloc(16, 1) : mark),
      })
      const [finding] = await checkServerLists(database, cache)
      assert.equal(finding!.severity, severity)
    }
  })

  test('a proxy that changes what it passes on', async () => {
    const { url, database } = await site()
    const proxy = await mangling(await sharedMemcached())
    const { status, of } = await run({ database: url, cache: proxy.address })
    assert.equal(status, 1)
    assert.match(of('whole way')[0]!, /^error: what came out of the cache was not the frame/)
    await nothingLeft(database)
    proxy.close()
  })

  test('what the doctor cannot remove is named', async () => {
    const { url, database } = await site()
    await database.query(
      'CREATE TRIGGER refuse BEFORE DELETE ON wide_cache_names BEGIN ' +
        "SELECT RAISE(ABORT, 'refused'); END",
    )
    const { of } = await run({ database: url })
    assert.match(
      of('whole way')[1]!,
      /^warning: what was written under the name "doctor\.[0-9a-f]{8}" is left: .*refused/,
    )
  })

  test('a clock that is wrong', async () => {
    const { url } = await site()
    const at = async (ms: number): Promise<string[]> =>
      (await run({ database: url, clock: new ManualClock(Date.now() + ms) })).of('clock')
    assert.match((await at(-60_000))[0]!, /^warning: .* 6\d\.\d s ahead of this machine's; until/)
    assert.match(
      (await at(700_000))[0]!,
      /^error: .* [67]\d\d\.\d s behind this machine's; if the database's is the wrong one/,
    )
  })

  test('frames in quarantine, visits of one visitor, and a grid that nobody drains', async () => {
    const { url, database } = await site({ visits: 150, cache: await sharedMemcached() })
    // One frame in two pieces.
    await database.query(
      'INSERT INTO wide_cache_quarantine (name, piece, row_count, reason, bytes, created_at) ' +
        "VALUES ('activity', 0, 7, ?, ?, 1), ('activity', 1, 0, '', ?, 1)",
      ['\u001b[2J', Buffer.from('x'), Buffer.from('y')],
    )
    await database.query(
      'UPDATE wide_cache_grids SET watermark = watermark - 1000, ' +
        'complete_to = complete_to - 3000000, moved_at = moved_at - 1000000',
    )
    const { status, of, printed } = await run({ database: url, cache: await sharedMemcached() })
    assert.equal(status, 1)
    assert.deepEqual(of('quarantine'), [
      'warning: "activity": frames: 1, rows: 7, reason: \u001b[2J',
    ])
    assert(!printed.includes('\u001b'))
    assert.deepEqual(of('visitors'), [
      'warning: 100 % of the last 150 visits of "activity" are of one visitor',
    ])
    assert.match(
      of('collectors')[0]!,
      /^warning: the grid of "activity" .* its last .* ended never/,
    )
    await database.query('UPDATE activities SET visitor = NULL')
    assert.deepEqual(await checkVisitors(database), [
      { check: 'visitors', severity: 'ok', cause: 'no visitor has most visits' },
    ])
    await database.query('UPDATE wide_cache_grids SET period_seconds = 3600')
    const collectedHourly = await run({ database: url, cache: await sharedMemcached() })
    assert.deepEqual(collectedHourly.of('collectors'), ['ok: no name of 1 is behind'])
    const withoutServers = await run({ database: url })
    assert.deepEqual(withoutServers.of('cache'), [
      'error: processes of this site use cache servers, and this command was given none',
    ])
  })

  test('tables of another version, of another program, or none', async () => {
    const { url, database } = await site()
    await database.query(
      'INSERT INTO wide_cache_migrations (part, version, name, applied_at, oldest) VALUES ' +
        "('activity', 99, 'future', 0, 99), ('wide-cache', 99, 'future', 0, 1)",
    )
    await database.query('CREATE TABLE hits_counts (mine TEXT)')
    const { status, of } = await run({ database: url })
    assert.equal(status, 1)
    assert.match(
      of('tables')[0]!,
      /^error: the tables of "activity" are at version 99, made by a new/,
    )
    assert.match(
      of('tables')[1]!,
      /^error: The database has a table "hits_counts" that is not wide/,
    )
    assert.equal(of('tables').length, 2)
    assert.deepEqual(of('whole way'), [])

    const file = join(folder, 'empty.db')
    const empty = sqlite(file)
    await empty.query('CREATE TABLE other (a TEXT)')
    const none = await run({ database: `sqlite:${file}` })
    assert.match(none.of('tables')[0]!, /^error: the database has no tables of wide-cache/)
    const { rows } = await empty.query('SELECT name FROM sqlite_master')
    assert.deepEqual(rows, [{ name: 'other' }])
    await empty.query('CREATE TABLE hits_counts (mine TEXT)')
    const { findings } = await run({ database: `sqlite:${file}` })
    assert.deepEqual(
      findings.filter(({ check }) => check === 'tables').map(({ remedy }) => remedy),
      ['give wide-cache a database (schema) of its own on the same server'],
    )
    await empty.close()
  })

  test('a command that is told to stop, or was killed, leaves nothing for the next', async () => {
    const { url, database } = await site()
    await assert.rejects(run({ database: url, stop: AbortSignal.abort() }), /told to stop/)
    await nothingLeft(database)
    const enter = (name: string) =>
      database.query(
        'INSERT INTO wide_cache_names (name, grid_name, kind, cell_ttl_seconds, direct_seconds, ' +
          'vanished_seconds, keep_seconds, history_days, repeat_seconds) ' +
          'VALUES (?, ?, ?, 60, 60, 60, 0, 0, 0)',
        [name, name, DOCTOR_KIND],
      )
    await enter('doctor.12345678')
    assert.equal((await run({ database: url })).status, 0)
    await nothingLeft(database)

    // One that runs at the same time keeps its name.
    await enter('doctor.running')
    await database.query(
      "UPDATE wide_cache_grids SET name = 'doctor.running', used_at = ? " +
        'WHERE id = (SELECT MIN(id) FROM wide_cache_grids)',
      [await database.now()],
    )
    await run({ database: url })
    const { rows } = await database.query(
      "SELECT COUNT(*) AS n FROM wide_cache_names WHERE name = 'doctor.running'",
    )
    assert.equal(rows[0]?.['n'], 1)
  })

  test('a database that cannot be reached stops the command, without its password', async () => {
    const database = `mysql://u:s3cret@127.0.0.1:${await freePort()}/d`
    await assert.rejects(run({ database }), (error) => {
      assert(error instanceof Error)
      assert.match(error.message, /cannot be reached \(ECONNREFUSED\)/)
      assert(!error.message.includes('s3cret'))
      return true
    })
  })
})

test('as text a finding is a paragraph of 80 columns with what to do', async () => {
  const { url, database } = await site({ visits: 150 })
  await database.query(
    'INSERT INTO wide_cache_quarantine (name, piece, row_count, reason, bytes, created_at) ' +
      "VALUES ('activity', 0, 7, ?, ?, 1)",
    ['\u001b[2J', Buffer.from('x')],
  )
  let text = ''
  await doctor(
    { database: url, cache: 'memory:', json: false },
    keptLog(),
    (part) => (text += part),
    new AbortController().signal,
  )
  assert(Math.max(...text.split('\n').map((line) => line.length)) <= 80, text)
  assert.match(text, /\nwarning {2}quarantine {4}"activity": frames: 1, /)
  assert(!text.includes('\u001b'), 'nothing that a terminal obeys')
  assert.match(text, /^ok {7}package {7}wide-cache \d/)
  assert.match(text, /\nwarning {2}visitors {6}100 % of .*\n {23}visitor\n {23}→ if a proxy/)
})

test('books that do not balance are found, and seconds whose rows were changed', async () => {
  const { url, database } = await site()
  // As while its process runs.
  await database.query('UPDATE wide_cache_grids SET used_at = moved_at')
  const healthy = await run({ database: url })
  assert.match(healthy.of('books').join('\n'), /^ok: the books of activity balance/)
  assert.match(healthy.of('cache').join('\n'), /^ok: no cache servers: the grid is in the memory/)
  await database.query('UPDATE activity_hours SET views = views + 1')
  await database.query('DELETE FROM activities')
  const { status, of } = await run({ database: url })
  assert.equal(status, 1)
  assert.match(
    of('books')[0]!,
    /^error: "activity": \d{4}-\d\d-\d\d: the hours have 4 page views, and the ledger/,
  )
  assert.match(of('books').at(-1)!, /^error: "activity": 0 rows are there of 10 s from /)
})

test('the books of today and of the two days before are looked at', async () => {
  for (const daysAgo of [0, 1, 2]) {
    const at = Date.now() - daysAgo * DAY_MS
    const { url, database } = await site({ at })
    await database.query('UPDATE activity_hours SET views = views + 1')
    const { of } = await run({ database: url })
    const day = new Date(at).toISOString().slice(0, 10)
    assert(
      of('books').some((cause) => cause.startsWith(`error: "activity": ${day}: the hours have 4`)),
    )
  }
})
