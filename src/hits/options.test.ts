import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from '../cache/memory.js'
import { createHits } from './item-hits.js'
import { cacheWarning } from '../page-views/incoming-views.js'
import { measureName } from '../page-views/measures.js'
import { hitsSettings } from './options.js'

test('a wrong option is refused by name, at creation', () => {
  const wrong: [object, RegExp][] = [
    [{}, /option "name" is undefined/],
    [{ name: 'a b' }, /option "name" is "a b"/],
    [{ name: 'x'.repeat(23) }, /option "name" is "x+"; allowed: 1 to 22 letters/],
    [{ name: 'a.seen' }, /option "name" is "a\.seen"; allowed: .*not end in/],
    [{ name: '.bots' }, /option "name" is "\.bots"; allowed: .*not end in/],
    [
      { repeatSeconds: 0 },
      /option "repeatSeconds" is 0; allowed: a whole number from 1 to 86400 seconds/,
    ],
    [{ repeatSeconds: 86_401 }, /"repeatSeconds"/],
    [{ repeatSeconds: '1800' }, /"repeatSeconds"/],
    [{ count: 'bots' }, /option "count" is "bots"; allowed: .*"served".*"seen"/],
    [{ bots: 'count' }, /option "bots" is unknown/],
    [{ privacySignals: true }, /"privacySignals"/],
    [{ publicPath: 'app' }, /option "publicPath" is "app"; allowed: a path as/],
    [{ collect: 'often' }, /"collect"/],
    [{ logger: {} }, /"logger"/],
    [{ width: 0 }, /"width"/],
    [
      { windowSeconds: 600 },
      new RegExp(
        'option "windowSeconds" is unknown; ' + 'createHits takes name, count, repeatSeconds',
      ),
    ],
    [{ cache: 'redis:x' }, /"cache"/],
    [{ database: 'oracle:x' }, /"database"/],
  ]
  for (const [options, message] of wrong) {
    const named = message.source.includes('undefined') ? {} : { name: 'x' }
    const given = {
      collect: false,
      cache: 'memory:',
      database: 'sqlite::memory:',
      ...named,
      ...options,
    }
    assert.throws(() => createHits(given as never), { code: 'ERR_WIDE_CACHE_OPTION', message })
  }
  assert.throws(() => createHits(undefined as never), TypeError)
})

test('an option that is undefined is one not given; the longest name is taken', () => {
  const settings = hitsSettings({
    name: 'x'.repeat(22),
    repeatSeconds: undefined,
    count: undefined,
  })
  const { repeatSeconds, keepSeconds, count, privacySignals } = settings
  assert.deepEqual(
    [repeatSeconds, keepSeconds, count, privacySignals],
    [0, 1_800 + 2 * 86_400, 'served', 'anonymous'],
  )
  assert.equal(measureName(settings.gridName, 'seen').length, 32)
})

test('viewings are remembered as long as a cell can live, after their window', () => {
  assert.equal(
    hitsSettings({ name: 'x', repeatSeconds: 60, cellTtlSeconds: 5 * 86_400 }).keepSeconds,
    60 + 5 * 86_400,
  )
})

test('in production a cache of one process is warned of', () => {
  const cache = memory()
  assert.match(
    cacheWarning(cache, 'fail', { NODE_ENV: 'production' }) ?? '',
    /memory:.* WIDE_CACHE_SERVERS \(or MEMCACHE_SERVERS\)/,
  )
  assert.equal(cacheWarning(cache, 'fail', {}), undefined)
  return cache.close()
})
