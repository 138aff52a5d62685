/**
 * Each class, cache and database that the package exports, in a process of its own: once `close()`
 * has returned, nothing is left of it, and the process ends by itself.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'
import { startRedis } from '../servers/redis.js'
import { sharedMemcached, sharedMysqlUrl, sharedPostgresUrl } from '../servers/shared.js'
import { OPENERS, PORTS } from '../closable.js'
import type { Given, Outcome } from './closing-process.js'

const PROGRAM = fileURLToPath(new URL('closing-process.ts', import.meta.url))
/** Decides only how late a process that does not end fails its test. */
const TIMEOUT_MS = 120_000

const server = createServer((socket) => socket.on('error', () => undefined).resume())
let silent = ''
before(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  silent = `127.0.0.1:${(server.address() as AddressInfo).port}`
})
after(() => server.close())

async function outcomeOf(key: string, given: Given): Promise<Outcome> {
  const args = [...TYPESCRIPT, PROGRAM, key, JSON.stringify(given)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: TIMEOUT_MS })
  return JSON.parse(stdout) as Outcome
}

const NOTHING = { open: [], listeners: [], resources: [], rejections: [] }
/** They have no option `logger`, or nothing to say of a database that has never answered. */
const QUIET = ['ShardedCounter', 'GlobalCounter', 'Sequence']

describe(
  'a process ends by itself, and nothing is left, after close() of',
  { concurrency: 3 },
  () => {
    for (const key of Object.keys(OPENERS)) {
      test(`${key}`, async () => {
        const embedded = { database: 'sqlite::memory:', cache: 'memory:', healthy: true }
        const { logged: _, ...left } = await outcomeOf(key, embedded)
        assert.deepEqual(left, NOTHING)
      })

      test(`${key}, on memcached and MariaDB`, async () => {
        const [database, cache] = await Promise.all([sharedMysqlUrl(), sharedMemcached()])
        const { logged: _, ...left } = await outcomeOf(key, { database, cache, healthy: true })
        assert.deepEqual(left, NOTHING)
      })

      test(`${key}, with a silent database and cache, and a logger that rejects`, async () => {
        const database = `mysql://wide:secret@${silent}/site`
        const outcome = await outcomeOf(key, { database, cache: silent, healthy: false })
        const { logged, ...left } = outcome
        assert.deepEqual(left, NOTHING)
        assert.equal(logged > 0, !QUIET.includes(key))
      })
    }

    const SERVERS: Readonly<Record<string, () => Promise<string>>> = {
      memcached: sharedMemcached,
      memory: async () => 'memory:',
      mysql: sharedMysqlUrl,
      postgres: sharedPostgresUrl,
      redis: async () => (await startRedis()).url,
      sqlite: async () => ':memory:',
    }
    for (const key of Object.keys(PORTS)) {
      test(`${key}`, async () => {
        const at = await SERVERS[key]!()
        const { logged: _, ...left } = await outcomeOf(key, {
          database: at,
          cache: at,
          healthy: true,
        })
        assert.deepEqual(left, NOTHING)
      })
      if (['memory', 'sqlite'].includes(key)) continue
      test(`${key}, with a silent server`, async () => {
        const urls: Readonly<Record<string, string>> = {
          memcached: silent,
          redis: `redis://${silent}`,
        }
        const at = urls[key] ?? `${key}://wide:secret@${silent}/site`
        const given = { database: at, cache: at, healthy: false }
        const { logged: _, ...left } = await outcomeOf(key, given)
        assert.deepEqual(left, NOTHING)
      })
    }
  },
)
