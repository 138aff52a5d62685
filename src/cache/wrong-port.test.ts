/**
 * What a process is told that connects to the wrong port, with the wrong password, or with a
 * certificate that nobody has vouched for, and is told again while the server is not asked.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createClient } from 'redis'
import type { Cache } from './cache.js'
import { memcached } from './memcached/memcached.js'
import { redis } from './redis/redis.js'
import { makeCertificate } from '../../test/servers/certificate.js'
import { freePort } from '../../test/servers/free-port.js'
import { type Memcached, PATIENT, startMemcached } from '../../test/servers/memcached.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { type Redis, startRedis } from '../../test/servers/redis.js'

const folder = temporaryFolder('cache-tls')
const { key, cert } = makeCertificate(folder)
let plain: Redis
let secure: number
let withTls: Redis
let other: Memcached
before(async () => {
  secure = await freePort()
  const tls = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert]
  ;[plain, withTls, other] = await Promise.all([
    startRedis(),
    startRedis(['--tls-port', String(secure), ...tls, '--tls-auth-clients', 'no']),
    startMemcached({ args: ['-c', '64', '-o', 'maxconns_fast'] }),
  ])
})
after(async () => {
  await Promise.all([plain.stop(), withTls.stop(), other.stop()])
  removeFolder(folder)
})

const SHORT = { timeoutMs: 500 }
const REFUSED = 'CACHE_REFUSED'
const UNREACHABLE = 'CACHE_UNREACHABLE'

interface Situation {
  readonly what: string
  readonly open: () => Cache
  /** Code of the first request, and of those that follow. */
  readonly codes: readonly [string, string]
  readonly says: RegExp
}
const SITUATIONS: readonly Situation[] = [
  {
    what: 'a wrong password',
    open: () => redis(`redis://anna:s3cret@${plain.address}`, PATIENT),
    codes: [REFUSED, REFUSED],
    says: /\(WRONGPASS .*\): check user and password in the URL/,
  },
  {
    what: 'a certificate that signs itself',
    open: () => redis(`rediss://localhost:${secure}`, PATIENT),
    codes: [REFUSED, REFUSED],
    says: /\(DEPTH_ZERO_SELF_SIGNED_CERT\): .* name its authority with ssl-ca/,
  },
  {
    what: 'a certificate of another host',
    open: () => redis(`rediss://127.0.0.1:${secure}?ssl-ca=${cert}`, PATIENT),
    codes: [REFUSED, REFUSED],
    says: /\(ERR_TLS_CERT_ALTNAME_INVALID\): check the certificate/,
  },
  {
    what: 'a Redis without TLS, asked with TLS',
    open: () => redis(`rediss://${plain.address}`, SHORT),
    codes: [UNREACHABLE, UNREACHABLE],
    says: /cannot be reached within 500 ms: .* that it is running with TLS/,
  },
  {
    what: 'a Redis with TLS, asked without',
    open: () => redis(`redis://127.0.0.1:${secure}`, PATIENT),
    codes: ['CACHE_TIMEOUT', UNREACHABLE],
    says: /broke the connection before it answered.* a port of Redis without TLS/,
  },
  {
    what: 'a memcached, taken for a Redis with TLS',
    open: () => redis(`rediss://${other.address}`, PATIENT),
    codes: [REFUSED, REFUSED],
    says: /has no TLS \(ERR_SSL_\w+\)/,
  },
  {
    what: 'a memcached, taken for a Redis',
    open: () => redis(`redis://${other.address}`, PATIENT),
    codes: ['CACHE_TIMEOUT', UNREACHABLE],
    says: /broke the connection before it answered.* a port of Redis without TLS/,
  },
  {
    what: 'a Redis, taken for a memcached',
    open: () => memcached(plain.address, SHORT),
    codes: ['CACHE_TIMEOUT', UNREACHABLE],
    says: /did not answer within 500 ms: .* a port of memcached without TLS/,
  },
  {
    what: 'a Redis with TLS, taken for a memcached',
    open: () => memcached(`127.0.0.1:${secure}`, PATIENT),
    codes: ['CACHE_TIMEOUT', UNREACHABLE],
    says: /broke the connection before it answered.* a port of memcached without TLS/,
  },
]

describe('a cache that cannot be used says why, at each request', () => {
  for (const { what, open, codes, says } of SITUATIONS) {
    test(what, async () => {
      const cache = open()
      try {
        for (const [i, code] of [...codes, codes[1]].entries()) {
          await assert.rejects(cache.get('key'), (error: Error & { code: string }) => {
            assert.equal(error.code, code)
            assert.match(error.message, says)
            assert.equal(/; it is retried every \d+ ms$/.test(error.message), i > 0)
            assert.doesNotMatch(error.message, /anna|s3cret/)
            return true
          })
        }
      } finally {
        await cache.close()
      }
    })
  }

  test("the site's own client, whose TLS only the site knows", async () => {
    const server = await startRedis()
    const client = await createClient({ url: server.url }).connect()
    const cache = redis({ client, ...SHORT })
    try {
      await client.sendCommand(['CLIENT', 'PAUSE', '60000'])
      await assert.rejects(cache.get('key'), {
        message: /did not answer within 500 ms: check that it is running, and the options of the/,
      })
    } finally {
      await cache.close()
      client.destroy()
      await server.kill()
      await server.stop()
    }
  })

  test('a memcached that has no connection left is quoted', async () => {
    const caches = Array.from({ length: 80 }, () => memcached(other.address, PATIENT))
    const said: string[] = []
    try {
      for (const cache of caches) await cache.get('key').catch((e: Error) => said.push(e.message))
    } finally {
      await Promise.all(caches.map((cache) => cache.close()))
    }
    assert.match(said.join(), /It says: ERROR Too many open connections/)
  })
})

test('rediss:// with the authority named by ssl-ca stores a value', async () => {
  const cache = redis(`rediss://localhost:${secure}/1?ssl-ca=${encodeURIComponent(cert)}`, PATIENT)
  try {
    assert.equal(await cache.set('key', Buffer.from('x'), 60), true)
    assert.equal(String(await cache.get('key')), 'x')
  } finally {
    await cache.close()
  }
})

test('a file of ssl-ca that cannot be read is refused, and so is one without TLS', () => {
  const wrong = (url: string, message: RegExp) =>
    assert.throws(() => redis(url), { name: 'RangeError', message })
  wrong(
    'rediss://u:s3cret@h?ssl-ca=/no/such',
    /"server" is "a URL whose file ssl-ca cannot .*ENOENT/,
  )
  wrong('redis://h?ssl-ca=/etc/hosts', /"server" is .*; allowed: redis:/)
  wrong('rediss://h?ssl-ca=/etc/hosts&db=1', /"server" is .*; allowed: redis:/)
})
