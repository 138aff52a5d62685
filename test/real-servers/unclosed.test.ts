/**
 * Processes that end without `close()`: tests of a site, scripts, workers. Nothing that waits keeps
 * them alive, and what they hold is brought first.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'
import { type Database, mysql } from '../../src/index.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { startFaultyTcp } from '../servers/faulty-tcp.js'
import { freePort } from '../servers/free-port.js'
import { startRedis } from '../servers/redis.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import { withoutSlowness } from '../slow-machine.js'
import {
  assertRecorded,
  countRecorded,
  createRecorded,
  openRecorded,
  rowsOf,
  uniqueName,
} from './recorded.js'

/** Ends a process that does not end by itself. */
const LIMIT_MS = 300_000

interface Servers {
  readonly database: string
  readonly cache: string
  /** Milliseconds. @default longer than a busy machine needs */
  readonly closeTimeout?: string
}

function started(
  file: string,
  args: readonly string[],
  { database, cache, closeTimeout = '120000' }: Servers,
) {
  const program = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn(process.execPath, [...TYPESCRIPT, program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: database,
      MEMCACHE_SERVERS: cache,
      CLOSE_TIMEOUT_MS: closeTimeout,
    },
  })
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  const timeout = setTimeout(kill, LIMIT_MS)
  const said = Promise.all([text(child.stdout), text(child.stderr)])
  return {
    child,
    /** Its exit status or signal, and what it has said. */
    ended: async () => {
      const [status, signal] = (await once(child, 'exit')) as [number | null, string | null]
      clearTimeout(timeout)
      process.off('exit', kill)
      const [stdout, stderr] = await said
      return { status: status ?? signal, stdout, stderr }
    },
  }
}

/** Runs a process to its own end, and returns what it has said on stderr. */
async function run(file: string, args: readonly string[], servers: Servers): Promise<string> {
  const { status, stdout, stderr } = await started(file, args, servers).ended()
  assert.equal(status, 0, `${status}\n${stdout}${stderr}`)
  assert.match(stdout, /^(?:done|ℹ pass 1|# pass 1)$/m)
  return withoutSlowness(stderr)
}

const PROCESS = './unclosed-process.ts'
const SITE = './unclosed-site.ts'

/** An empty database, open until the test ends, and a cache that others use too. */
async function servers(t: TestContext): Promise<Servers & { sql: Database; name: string }> {
  const database = await sharedMysqlUrl()
  const sql = mysql(database)
  t.after(() => sql.close())
  return { database, cache: await sharedMemcached(), sql, name: uniqueName() }
}

async function counted(sql: Database, query: string): Promise<number> {
  const { rows } = await sql.query(query)
  return Number(rows[0]?.['n'])
}

const VISITS = 'SELECT COUNT(*) AS n FROM activities'
const HITS =
  "SELECT COALESCE(SUM(committed), 0) AS n FROM wide_cache_writers WHERE name LIKE 'hits.%'"

describe('a process that closes nothing', { concurrency: true }, () => {
  test('ends, whatever class it has used on memcached and MariaDB', async (t) => {
    const { sql, name, ...given } = await servers(t)
    await createRecorded(sql)
    assert.equal(await run(PROCESS, ['uses', name], given), '')
  })

  test('ends when the tests of a site have ended, and brings their page views', async (t) => {
    const { sql, name, ...given } = await servers(t)
    assert.equal(await run(SITE, [name], given), '')
    assert.deepEqual([await counted(sql, VISITS), await counted(sql, HITS)], [1, 1])
  })

  test('that has tested a site ends with the database and the cache down', async () => {
    const down = `127.0.0.1:${await freePort()}`
    const said = await run(SITE, [uniqueName()], {
      database: `mysql://root@${down}/site`,
      cache: down,
      closeTimeout: '1000',
    })
    assert.match(said, /"[^"]+" closed with 1 row that neither .* lost/)
  })

  test('ends when all that it has recorded is in SQL, with the cache up or down', async (t) => {
    const { sql, name, ...given } = await servers(t)
    await createRecorded(sql)
    const redis = await startRedis()
    t.after(() => redis.stop())
    const down = `127.0.0.1:${await freePort()}`
    const caches = [given.cache, down, redis.url, `redis://${down}`]
    for (const cache of caches) {
      await sql.query('DELETE FROM recorded')
      await run(PROCESS, ['records', name], { ...given, cache })
      await assertRecorded(sql, rowsOf(1, 0, 100))
    }
    assert.deepEqual([await counted(sql, VISITS), await counted(sql, HITS)], [4, 4])
  })

  test('waits closeTimeoutMs for an absent or silent database, and tells the loss', async (t) => {
    const { database, cache, name } = await servers(t)
    const { port } = new URL(database)
    const silent = await startFaultyTcp(`127.0.0.1:${port}`)
    t.after(() => silent.close())
    silent.swallow()
    const addresses = [`127.0.0.1:${await freePort()}`, silent.address]
    await Promise.all(
      addresses.map(async (address) => {
        const said = await run(PROCESS, ['records', name], {
          database: `mysql://root@${address}/site`,
          cache,
          closeTimeout: '1000',
        })
        for (const [whose, rows] of [
          [name, '1 row'],
          [`hits.${name}`, '1 row'],
          [`rows.${name}`, '100 rows'],
        ]) {
          assert.match(said, new RegExp(`"${whose}" closed with ${rows} that neither .* lost`))
        }
      }),
    )
  })

  test('goes on collecting by a cron line that it was given, and by no other', async (t) => {
    const { sql, name, ...given } = await servers(t)
    await createRecorded(sql)
    await run(PROCESS, ['listens', name], given)
    const collector = started(PROCESS, ['collects', name], given)
    const writer = openRecorded({ ...given, collect: false }, { name: `rows.${name}` })
    for (const round of [1, 2]) {
      writer.append({ writer: 1, number: round })
      await eventually('a row is collected', async () => (await countRecorded(sql)) === round)
    }
    await writer.close()
    collector.child.kill('SIGTERM')
    assert.equal((await collector.ended()).status, 'SIGTERM')
  })
})
