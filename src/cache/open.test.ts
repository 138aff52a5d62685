import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from './memory.js'
import { openCache } from './open.js'

test('without any word, a cache in memory', () => {
  for (const env of [{}, { MEMCACHE_SERVERS: '' }]) {
    const { cache, owned } = openCache(undefined, env)
    assert.equal(cache.scope, 'private')
    assert.equal(owned, true)
  }
})

test('MEMCACHE_SERVERS is read where no cache is given', async () => {
  const { cache, owned } = openCache(undefined, {
    MEMCACHE_SERVERS: '127.0.0.1:11211,127.0.0.1:11212',
  })
  assert.equal(cache.scope, 'shared')
  assert.equal(owned, true)
  await cache.close()
  assert.equal(
    openCache('memory:', { MEMCACHE_SERVERS: '127.0.0.1' }).cache.scope,
    'private',
    'what is given goes first',
  )
})

test('WIDE_CACHE_SERVERS wins over MEMCACHE_SERVERS; errors name the variable', async () => {
  const { cache } = openCache(undefined, {
    WIDE_CACHE_SERVERS: '127.0.0.1:1',
    MEMCACHE_SERVERS: 'a:b',
  })
  assert.equal(cache.scope, 'shared')
  await cache.close()
  assert.equal(
    openCache(undefined, { WIDE_CACHE_SERVERS: 'memory:', MEMCACHE_SERVERS: '127.0.0.1' }).cache
      .scope,
    'private',
  )
  assert.throws(
    () => openCache(undefined, { WIDE_CACHE_SERVERS: 'a:b', MEMCACHE_SERVERS: '127.0.0.1' }),
    { name: 'RangeError', message: /WIDE_CACHE_SERVERS\)" is "a:\*\*\*"/ },
  )
})

test('a wrong MEMCACHE_SERVERS is said to be that', () => {
  assert.throws(() => openCache(undefined, { MEMCACHE_SERVERS: 'a:b' }), {
    name: 'RangeError',
    message: /option "cache \(environment variable MEMCACHE_SERVERS\)" is "a:\*\*\*"/,
  })
})

test('memcached://… is a memcached, made here', async () => {
  const { cache, owned } = openCache('memcached://127.0.0.1:11211,localhost', {})
  assert.equal(cache.scope, 'shared')
  assert.equal(owned, true)
  await cache.close()
})

test('what MEMCACHE_SERVERS takes is taken as the option, too', async () => {
  for (const servers of [
    '127.0.0.1:11211,127.0.0.1:11212',
    'localhost',
    '[::1]:11211',
    'anna:secret@127.0.0.1',
  ]) {
    const { cache, owned } = openCache(servers, {})
    assert.deepEqual([cache.scope, owned], ['shared', true], servers)
    await cache.close()
  }
})

test('redis://, rediss:// and unix:// are Redis, made here', async () => {
  for (const url of ['redis://127.0.0.1:1', 'rediss://u:p@h:6380/2', 'unix:///run/r.sock?db=1']) {
    const { cache, owned } = openCache(url, {})
    assert.deepEqual([cache.scope, owned], ['shared', true], url)
    await cache.close()
  }
})

test('REDIS_URL is read last; an error names it', async () => {
  const { cache } = openCache(undefined, { REDIS_URL: 'redis://127.0.0.1:1' })
  assert.equal(cache.scope, 'shared')
  await assert.rejects(cache.get('a'), { message: /^wide-cache: Redis 127\.0\.0\.1:1 cannot be/ })
  await cache.close()
  const env = { MEMCACHE_SERVERS: 'memory:', REDIS_URL: 'redis://127.0.0.1:1' }
  assert.equal(openCache(undefined, env).cache.scope, 'private')
  assert.throws(() => openCache(undefined, { REDIS_URL: 'redis://h/x' }), {
    name: 'RangeError',
    message: /option "cache \(environment variable REDIS_URL\)" is /,
  })
})

test('a Cache is taken as it is, and is not owned', () => {
  const given = memory()
  assert.deepEqual(openCache(given, {}), { cache: given, owned: false })
})

test('a wrong cache is refused by name, without credentials', () => {
  for (const wrong of ['http://h', 'h:x', 'memory', 'memory:x', '', 'memcached://h:0', 'MEMORY:']) {
    assert.throws(
      () => openCache(wrong, {}),
      { name: 'RangeError', message: /option "cache" is .*; allowed: .*memcached:\/\/host:port/ },
      wrong,
    )
  }
  for (const wrong of [7, null, {}, [], { get() {} }]) {
    // @ts-expect-error none of these is a cache
    assert.throws(() => openCache(wrong, {}), { name: 'TypeError', message: /option "cache" is/ })
  }
  for (const wrong of ['redis://anna:secret@h/x', 'memcached://anna:secret@h:0']) {
    assert.throws(
      () => openCache(wrong, {}),
      (error: Error) => !/anna|secret/.test(error.message),
    )
  }
})

test('no message shows a password, also where its @ is missing', () => {
  for (const text of [
    'u:hunter2',
    'memcached://u:hunter2',
    'memcached:/u:hunter2@h:1',
    'http://u:hunter2',
    'redis://:hunter2',
    'redis://u:hunter2@h:0x',
    'unix://u:hunter2@/',
    'h:1 u:hunter2',
    'h:1,u:hunter2,x',
  ]) {
    assert.throws(
      () => openCache(text),
      ({ name, message }: Error) => name === 'RangeError' && !message.includes('hunter2'),
      text,
    )
  }
})
