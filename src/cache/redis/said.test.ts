/** Each row of the table of what Redis can say, provoked on a real server where it can be. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { createClient } from 'redis'
import type { Cache } from '../cache.js'
import { RedisRefusal } from './link.js'
import { redis } from './redis.js'
import { SAID } from './said.js'
import { eventually } from '../../support/eventually.fixture.js'
import { freePort } from '../../../test/servers/free-port.js'
import { PATIENT } from '../../../test/servers/memcached.js'
import { removeFolder, temporaryFolder } from '../../../test/servers/process.js'
import { startRedis } from '../../../test/servers/redis.js'

const x = Buffer.from('x')
const set = (cache: Cache): Promise<unknown> => cache.set('key', x, 60)
const increment = (cache: Cache): Promise<unknown> =>
  cache.increment('key', 1, { initial: 1, ttlSeconds: 60 })

interface Provoked {
  /** Of the server. */
  readonly options?: readonly string[]
  /** Commands of an operator. */
  readonly tell?: readonly (readonly string[])[]
  /** URL behind `redis://`, with `HOST` in it. @default 'HOST' */
  readonly url?: string
  readonly ask?: (cache: Cache) => Promise<unknown>
}

const folder = temporaryFolder('redis-said')
// A file cannot be saved where there is a folder.
mkdirSync(join(folder, 'taken'))
after(() => removeFolder(folder))

/** By the code of which the server speaks. */
const PROVOKED: Readonly<Record<string, Provoked>> = {
  WRONGPASS: { url: 'nobody:s3cret@HOST' },
  'ERR AUTH': { url: ':s3cret@HOST' },
  NOPERM: {
    options: ['--user', 'few', 'on', '>s3cret', '~*', '-@all', '+select'],
    url: 'few:s3cret@HOST',
  },
  'ERR DB index': { url: 'HOST/99' },
  'ERR max number of clients': { options: ['--maxclients', '1'] },
  'ERR unknown command': { options: ['--rename-command', 'EVAL', ''], ask: increment },
  OOM: { options: ['--maxmemory', '1kb'], ask: increment },
  READONLY: { tell: [['REPLICAOF', '127.0.0.1', '1']], ask: set },
  NOREPLICAS: { options: ['--min-replicas-to-write', '1'], ask: set },
  CLUSTERDOWN: {
    options: ['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())],
  },
  BUSY: { options: ['--busy-reply-threshold', '1'], tell: [['EVAL', 'while true do end', '0']] },
  MISCONF: {
    options: ['--save', '3600', '1000', '--dir', folder, '--enable-protected-configs', 'yes'],
    tell: [['CONFIG', 'SET', 'dbfilename', 'taken'], ['BGSAVE']],
    ask: set,
  },
  WRONGTYPE: { tell: [['LPUSH', 'key', 'x']] },
  'ERR the value is no number': { tell: [['SET', 'key', 'x']], ask: increment },
}

describe('redis: what the server says, and what to do', () => {
  for (const [code, { options, tell = [], url = 'HOST', ask }] of Object.entries(PROVOKED)) {
    test(code, async () => {
      const server = await startRedis(options)
      const admin = createClient({ url: server.url })
      admin.on('error', () => undefined)
      await admin.connect()
      // The last one may have no end.
      for (const command of tell.slice(0, -1)) await admin.sendCommand(command)
      void admin.sendCommand(tell.at(-1) ?? ['PING']).catch(() => undefined)
      const cache = redis(`redis://${url.replace('HOST', server.address)}`, PATIENT)
      try {
        const { remedy } = SAID.find(({ codes }) => codes.includes(code))!
        // What was told takes effect a moment later.
        const message = await eventually(`the server says ${code}`, async () => {
          const said = await (ask?.(cache) ?? cache.get('key')).then(String, shown)
          return said.includes(code) && said
        })
        assert(message.includes(`refused the request (${code}`), message)
        assert(message.includes(`): ${remedy}`), message)
        assert.doesNotMatch(message, /s3cret/)
      } finally {
        await cache.close()
        admin.destroy()
        await server.kill()
        await server.stop()
      }
    })
  }
  test('each row is provoked, but for what needs another server or another address', () => {
    const others = SAID.filter(({ codes }) => !codes.some((code) => code in PROVOKED))
    assert.deepEqual(
      others.map(({ codes }) => codes[0]),
      ['DENIED'],
    )
  })
  test('a reply without a row has none', () => {
    assert.match(new RedisRefusal('h:1', 'ERR OOMPH').message, /refused the request \(ERR OOMPH\)$/)
  })
  test('what a reply quotes of the request is left out', () => {
    const reply = "ERR unknown command 'GETX', with args beginning with: 'key' 'a\nb'"
    assert.match(
      new RedisRefusal('h:1', reply).message,
      /refused the request \(ERR unknown command 'GETX'\): use Redis/,
    )
  })
})

function shown(error: unknown): string {
  assert(error instanceof RedisRefusal || (error instanceof Error && 'code' in error))
  assert.equal(error.code, 'CACHE_REFUSED', error.message)
  return error.message
}
