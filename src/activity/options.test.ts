import { country } from './dimensions/country.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from '../cache/memory.js'
import { createActivity } from './site-activity.js'
import { cacheWarning } from '../page-views/incoming-views.js'
import { gridSettings } from '../wide-cache/grid-options.js'
import { activitySettings, type ActivityOptions } from './options.js'

test('without options there are the documented defaults', () => {
  const { grid, logger, ...settings } = activitySettings({})
  assert.deepEqual(settings, {
    name: 'activity',
    count: 'served',
    windowSeconds: 600,
    statsTtlSeconds: 2,
    keepSeconds: 24 * 3600,
    retentionGiven: false,
    skip: undefined,
    visitor: undefined,
    page: undefined,
    publicPath: '',
    botTypes: new Set(),
    dimensions: {},
    historyDays: 8,
    layerSeconds: 3,
    vanishedSeconds: 3600,
    keep: '',
    timeZone: undefined,
    privacySignals: 'anonymous',
  })
  assert.deepEqual(grid, { cache: undefined, database: undefined, ...gridSettings({}) })
  assert.equal(logger, console)
})

test('an option that is undefined is an option not given', () => {
  assert.deepEqual(
    activitySettings({
      name: undefined,
      windowSeconds: undefined,
      width: undefined,
      skip: undefined,
      logger: undefined,
    }),
    activitySettings({}),
  )
})

test('the window is by default ten minutes, or a layer where that is longer', () => {
  assert.equal(activitySettings({ layerSeconds: 1 }).windowSeconds, 600)
  assert.equal(activitySettings({ layerSeconds: 7 }).windowSeconds, 600)
  assert.equal(activitySettings({ layerSeconds: 900, cellTtlSeconds: 7200 }).windowSeconds, 900)
})

test('visits are kept a day, or as long as the window needs them', () => {
  const hours = (options: ActivityOptions) => activitySettings(options).keepSeconds / 3_600
  assert.equal(hours({ retentionHours: 48 }), 48)
  assert.equal(hours({ windowSeconds: 48 * 3600 }), 49)
  assert.equal(hours({ windowSeconds: 3600, retentionHours: 1, cellTtlSeconds: 1800 }), 1.5)
  // Without a collector the window ends 75 s ago.
  const short = { windowSeconds: 3600, retentionHours: 1, cellTtlSeconds: 30 }
  assert.equal(activitySettings(short).keepSeconds, 3675)
})

/** Options that are wrong, what is thrown, and what its message names. */
const WRONG: [options: object, error: typeof TypeError | typeof RangeError, message: RegExp][] = [
  [
    { windowSecond: 600 },
    TypeError,
    new RegExp(
      'option "windowSecond" is unknown; ' + 'createActivity takes name, count, windowSeconds',
    ),
  ],
  [{ commit: () => {} }, TypeError, /option "commit" is unknown/],
  [{ name: 'with spaces' }, RangeError, /option "name" is "with spaces"; allowed: 1 to 27/],
  [{ name: 'x'.repeat(33) }, RangeError, /option "name"/],
  [{ name: '' }, RangeError, /option "name" is ""/],
  [{ name: 7 }, TypeError, /option "name" is 7/],
  [{ width: 0 }, RangeError, /option "width" is 0; allowed: a whole number from 1/],
  [{ width: 1.5 }, RangeError, /option "width" is 1.5/],
  [{ width: '15' }, TypeError, /option "width" is "15"/],
  [{ layerSeconds: 0 }, RangeError, /option "layerSeconds"/],
  [
    { layerSeconds: 60, cellTtlSeconds: 60 },
    RangeError,
    /option "layerSeconds" is 60; .*cellTtlSeconds 60/,
  ],
  [
    { collect: 'now and then' },
    RangeError,
    /option "collect" is "now and then"; allowed: a cron line/,
  ],
  [{ collect: 10 }, TypeError, /option "collect" is 10/],
  [
    { windowSeconds: 0 },
    RangeError,
    /option "windowSeconds" is 0; allowed: a whole number from 3 to 2592000 seconds/,
  ],
  [{ historyDays: 0 }, RangeError, /option "historyDays" is 0; allowed: a whole number from 1/],
  [{ dimensions: [] }, TypeError, /option "dimensions" is an array; allowed: an object of at most/],
  [{ dimensions: { page: () => '' } }, RangeError, /"dimensions" is "page"; allowed: another name/],
  [{ dimensions: { 'a b': () => '' } }, RangeError, /"dimensions" is "a b"; allowed: 1 to 32/],
  [
    { dimensions: { a: country } },
    RangeError,
    /"dimensions.a" is a function; allowed: what a call returns: country\('cf-ipcountry'\)/,
  ],
  [{ dimensions: { a: 'x' } }, TypeError, /option "dimensions.a" is "x"; allowed: an object of/],
  [{ windowSeconds: '600' }, TypeError, /option "windowSeconds" is "600"/],
  [
    { statsTtlSeconds: 0 },
    RangeError,
    /option "statsTtlSeconds" is 0; allowed: a whole number from 1 to 86400 seconds/,
  ],
  [{ statsTtlSeconds: NaN }, RangeError, /option "statsTtlSeconds" is NaN/],
  [
    { retentionHours: 0 },
    RangeError,
    /option "retentionHours" is 0; .*at least the window of 600 s/,
  ],
  [
    { windowSeconds: 7200, retentionHours: 1 },
    RangeError,
    /option "retentionHours" is 1; allowed: a whole number from 2 .*window of 7200 s/,
  ],
  [{ retentionHours: 0.5 }, RangeError, /option "retentionHours" is 0.5/],
  [{ skip: true }, TypeError, /option "skip" is true; allowed: a function/],
  [{ visitor: 'ip' }, TypeError, /option "visitor" is "ip"; allowed: a function/],
  [{ page: /x/ }, TypeError, /option "page" is an object; allowed: a function/],
  [{ bots: 'count' }, TypeError, /option "bots" is unknown/],
  [{ count: 'both' }, RangeError, /option "count" is "both"; allowed: "served" or "seen"/],
  [{ count: null }, TypeError, /option "count" is null/],
  [{ name: 'a.seen' }, RangeError, /option "name" is "a\.seen"; allowed: .*not end in/],
  [{ name: '.bots' }, RangeError, /option "name" is ".bots"; allowed: .*not end in/],
  [{ name: 'x'.repeat(28) }, RangeError, /option "name" is "x{28}"; allowed: 1 to 27 letters/],
  [{ publicPath: '/app/' }, RangeError, /option "publicPath" is "\/app\/"; allowed: a path as/],
  [
    { privacySignals: 'none' },
    RangeError,
    /option "privacySignals" is "none"; allowed: "anonymous" or "skip" or "ignore"/,
  ],
  [{ logger: {} }, TypeError, /option "logger"/],
  [
    { database: 'mongodb://user:hunter2@host/db' },
    RangeError,
    /option "database" is (?!.*hunter2).*mysql:\/\//,
  ],
  [
    { cache: 'redis://:hunter2@host/x', database: 'sqlite::memory:' },
    RangeError,
    /option "cache" is (?!.*hunter2).*redis:\/\//,
  ],
  [{ cache: 5 }, TypeError, /option "cache" is 5/],
]

for (const [options, error, message] of WRONG) {
  const names = Object.entries(options)
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join(', ')
  test(`createActivity({ ${names} }) throws a ${error.name} that names what is wrong`, () => {
    assert.throws(
      () => createActivity(options as ActivityOptions),
      (thrown) => {
        assert(thrown instanceof error, String(thrown))
        assert.match(thrown.message, message)
        return true
      },
    )
  })
}

test('createActivity(null) and createActivity("name") throw a TypeError', () => {
  for (const options of [null, 'name', []]) {
    assert.throws(() => createActivity(options as ActivityOptions), /createActivity options/)
  }
})

test('a cache of one process earns a warning in production, and only there', () => {
  assert.match(
    cacheWarning(memory(), 'fail', { NODE_ENV: 'production' }) ?? '',
    /memory:.* WIDE_CACHE_SERVERS \(or MEMCACHE_SERVERS\)/,
  )
  assert.equal(cacheWarning(memory(), 'fail', {}), undefined)
  assert.equal(
    cacheWarning({ ...memory(), scope: 'shared' }, 'fail', { NODE_ENV: 'production' }),
    undefined,
  )
})
