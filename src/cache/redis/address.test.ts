import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { redisAddress } from './address.js'

test('a URL names host, port, TLS, user, password and database', () => {
  const none = { username: undefined, password: undefined, database: 0 }
  for (const [url, address] of [
    ['redis://h', { name: 'h:6379', socket: { host: 'h', port: 6379, tls: false }, ...none }],
    [
      'rediss://anna:a%40b@h:1/3',
      {
        name: 'h:1',
        socket: { host: 'h', port: 1, tls: true, servername: 'h' },
        username: 'anna',
        password: 'a@b',
        database: 3,
      },
    ],
    [
      'redis://:only@[::1]:7',
      {
        name: '[::1]:7',
        socket: { host: '::1', port: 7, tls: false },
        ...none,
        password: 'only',
      },
    ],
    [
      'rediss://10.0.0.1',
      { name: '10.0.0.1:6379', socket: { host: '10.0.0.1', port: 6379, tls: true }, ...none },
    ],
    [
      'unix:///run/a%20b.sock',
      { name: '/run/a b.sock', socket: { path: '/run/a b.sock' }, ...none },
    ],
    [
      'unix://u:p@/r.sock?db=4',
      { name: '/r.sock', socket: { path: '/r.sock' }, username: 'u', password: 'p', database: 4 },
    ],
  ] as const) {
    assert.deepEqual(redisAddress('cache', url), address, url)
  }
})

test('what it cannot mean is refused by name, without credentials', () => {
  for (const wrong of [
    'redis://',
    'redis://:secret@',
    'redis://u:secret@h/x',
    'redis://u:secret@h/-1',
    'redis://u:secret@h/1/2',
    'redis://u:secret@h:99999',
    'redis://u:secret@h?db=1',
    'redis://u:secret@h#x',
    'redis://u:%secret@h',
    'redis://u:secret@a,b',
    'unix://u:secret@/',
    'unix:///s?database=1',
    'http://u:secret@h',
  ]) {
    assert.throws(
      () => redisAddress('cache', wrong),
      ({ name, message }: Error) => {
        assert.equal(name, 'RangeError', wrong)
        assert.match(message, /option "cache" is .*; allowed: redis:\/\//, wrong)
        assert.doesNotMatch(message, /secret/, wrong)
        return true
      },
    )
  }
  const missing = 'rediss://u:secret@h?ssl-ca=/no/such/file.pem'
  assert.throws(() => redisAddress('cache', missing), {
    name: 'RangeError',
    message:
      'wide-cache: option "cache" is "a URL whose file ssl-ca cannot be read (ENOENT)"; ' +
      'allowed: the path of a file in PEM format',
  })
  const { socket } = redisAddress('cache', `rediss://h?ssl-ca=${fileURLToPath(import.meta.url)}`)
  assert.match(String((socket as { ca?: string }).ca), /what it cannot mean is refused by name/)
  // @ts-expect-error a URL that is no text
  assert.throws(() => redisAddress('server', 7), TypeError)
})
