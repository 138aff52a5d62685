import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settingsOf, type WideCacheOptions } from './options.js'

const least = { name: 'test', commit: async () => undefined }

/** Options as a user of JavaScript may give them. */
function settingsOfAny(options: unknown) {
  return settingsOf(options as WideCacheOptions<unknown>)
}

test('what is not given has its default, also where it is given as undefined', () => {
  const { logger, codec, commit, read, removeOld, collectorRemedy, ...figures } = settingsOfAny({
    ...least,
    width: undefined,
    codec: undefined,
  })
  assert.deepEqual(figures, {
    name: 'test',
    kind: 'rows',
    nameSettings: {},
    tables: [],
    afterDrain: undefined,
    afterRun: undefined,
    metrics: undefined,
    cache: undefined,
    database: undefined,
    width: 15,
    layerSeconds: 3,
    drainAfterLayers: 2,
    flushMs: 500,
    collect: '*/3 * * * * *',
    staysToCollect: false,
    cellTtlSeconds: 3600,
    confirmSeconds: 60,
    directSeconds: 75,
    vanishedSeconds: 3600,
    periodSeconds: 3,
    maxFrameBytes: 65_536,
    maxOutboxBytes: 33_554_432,
    closeTimeoutMs: 5000,
    maxCommitRows: 2_000,
    readTtlSeconds: 2,
  })
  assert.match(collectorRemedy, /collect --module/)
  assert.equal(logger, console)
  assert.equal(commit, least.commit)
  assert.deepEqual([read, removeOld], [undefined, undefined])
  assert.equal(codec.decode(Buffer.from('{"a":1}')) instanceof Object, true)
})

test('layers of a second are drained 2 s after their end, longer ones a layer after it', () => {
  const layersOf = (layerSeconds: number) =>
    settingsOfAny({ ...least, layerSeconds }).drainAfterLayers
  assert.deepEqual([1, 2, 60].map(layersOf), [3, 2, 2])
})

test('settings cannot be changed afterwards', () => {
  assert(Object.isFrozen(settingsOfAny(least)))
})

const wrong: [given: Record<string, unknown>, name: 'TypeError' | 'RangeError', message: RegExp][] =
  [
    [{ name: undefined }, 'TypeError', /"name" is undefined; allowed: 1 to 32 letters/],
    [{ name: 'with spaces' }, 'RangeError', /"name" is "with spaces"; allowed: 1 to 32 letters/],
    [{ name: 'x'.repeat(33) }, 'RangeError', /"name" is "x{33}"; allowed: 1 to 32 letters/],
    [{ kind: 'a kind' }, 'RangeError', /"kind" is "a kind"; allowed: 1 to 32 letters/],
    [
      { kind: 'hits' },
      'RangeError',
      new RegExp(
        '"kind" is "hits"; allowed: another word: ' +
          String.raw`activity and hits are what createActivity\(\) and createHits\(\) record`,
      ),
    ],
    [{ commit: undefined }, 'TypeError', /"commit" is undefined; allowed: a function \(rows, tx\)/],
    [
      { codec: {} },
      'TypeError',
      new RegExp(
        String.raw`"codec" is an object; allowed: an object with encode\(row, target, offset\) ` +
          String.raw`and decode\(bytes\)`,
      ),
    ],
    [{ codec: null }, 'TypeError', /"codec" is null; allowed: an object with encode/],
    [{ width: null }, 'TypeError', /"width" is null; allowed: a whole number/],
    [{ collect: null }, 'TypeError', /"collect" is null; allowed: a cron line/],
    [{ width: 0 }, 'RangeError', /"width" is 0; allowed: a whole number from 1 to 1000 columns/],
    [
      { width: 1.5 },
      'RangeError',
      /"width" is 1\.5; allowed: a whole number from 1 to 1000 columns/,
    ],
    [
      { width: '15' },
      'TypeError',
      /"width" is "15"; allowed: a whole number from 1 to 1000 columns/,
    ],
    [
      { layerSeconds: 0 },
      'RangeError',
      /"layerSeconds" is 0; allowed: a whole number from 1 to 3600 seconds/,
    ],
    [
      { layerSeconds: 3600 },
      'RangeError',
      /"layerSeconds" is 3600; allowed: .*layerSeconds 3600 .*within cellTtlSeconds 3600/,
    ],
    [
      { drainAfterLayers: 1 },
      'RangeError',
      /"drainAfterLayers" is 1; allowed: a whole number from 2 to 1000 layers \(with 1,/,
    ],
    [
      { flushMs: 0 },
      'RangeError',
      /"flushMs" is 0; allowed: a whole number from 1 to 1500 milliseconds \(half of the/,
    ],
    [
      { flushMs: 3_001, drainAfterLayers: 3 },
      'RangeError',
      /"flushMs" is 3001; allowed: a whole number from 1 to 3000 milliseconds/,
    ],
    [
      { flushMs: 10_001, layerSeconds: 60 },
      'RangeError',
      /"flushMs" is 10001; allowed: a whole number from 1 to 10000 milliseconds/,
    ],
    [
      { collect: 'every minute' },
      'RangeError',
      /"collect" is "every minute"; allowed: a cron line/,
    ],
    [
      { collect: true },
      'TypeError',
      /"collect" is true; allowed: a cron line .*, or false; left out, it is every 3 seconds/,
    ],
    [{ collect: 10 }, 'TypeError', /"collect" is 10; allowed: a cron line .*, or false/],
    [
      { collect: '0 0 * * *' },
      'RangeError',
      /"collect" is "0 0 \* \* \*"; allowed: .*collecting period of 86400 s/,
    ],
    [
      { cellTtlSeconds: 30 * 24 * 3600 + 1 },
      'RangeError',
      /"cellTtlSeconds" is 2592001; allowed: a whole number from 10 to 2592000 seconds/,
    ],
    [
      { confirmSeconds: 19 },
      'RangeError',
      new RegExp(
        '"confirmSeconds" is 19; allowed: a whole number from 27 to 2592015 seconds ' +
          String.raw`\(at least the drain age of 9 s, the collecting period of 3 s and 15 s\)`,
      ),
    ],
    [
      { maxFrameBytes: 1023 },
      'RangeError',
      /"maxFrameBytes" is 1023; allowed: a whole number from 1024 to 524288 bytes/,
    ],
    [
      { maxOutboxBytes: 1 },
      'RangeError',
      /"maxOutboxBytes" is 1; allowed: a whole number from 1048576 to 1073741824 bytes/,
    ],
    [
      { closeTimeoutMs: Infinity },
      'RangeError',
      /"closeTimeoutMs" is Infinity; allowed: a whole number from 100 to 600000 milliseconds/,
    ],
    [
      { logger: { info() {} } },
      'TypeError',
      /"logger" is an object; allowed: an object with the methods info, warn and error/,
    ],
    [{ read: 'SELECT' }, 'TypeError', /"read" is "SELECT"; allowed: a function/],
    [
      { readTtlSeconds: -1 },
      'RangeError',
      /"readTtlSeconds" is -1; allowed: a whole number from 1 to 86400 seconds/,
    ],
    [
      { maxCommitRows: 999 },
      'RangeError',
      /"maxCommitRows" is 999; allowed: a whole number from 1000 to 100000 rows/,
    ],
    [{ removeOld: 1 }, 'TypeError', /"removeOld" is 1; allowed: a function/],
    [{ widht: 15 }, 'TypeError', /"widht" is unknown; WideCache takes name, .*width/],
  ]

for (const [given, name, message] of wrong) {
  const [option] = Object.keys(given)
  const shown = JSON.stringify(given[option!]) ?? 'undefined'
  test(`a wrong ${option} is refused with name, value and remedy: ${shown.slice(0, 40)}`, () => {
    assert.throws(() => settingsOfAny({ ...least, ...given }), {
      name,
      message,
      code: 'ERR_WIDE_CACHE_OPTION',
    })
  })
}

test('options that are no object are refused', () => {
  for (const options of [undefined, null, 'test', []]) {
    assert.throws(() => settingsOfAny(options), {
      name: 'TypeError',
      message: /"WideCache options"/,
    })
  }
})

test('a grid whose layers take a day to be drained has the time for it', () => {
  assert.equal(
    settingsOfAny({
      ...least,
      layerSeconds: 3600,
      drainAfterLayers: 30,
      cellTtlSeconds: 30 * 24 * 3600,
    }).confirmSeconds,
    31 * 3600 + 3 + 15,
  )
})

test('without a cron line, a process collects each layer, and at least every three seconds', () => {
  const lineOf = (layerSeconds: number) => settingsOfAny({ ...least, layerSeconds }).collect
  assert.equal(lineOf(1), '* * * * * *')
  assert.equal(lineOf(2), '*/2 * * * * *')
  assert.equal(lineOf(3), '*/3 * * * * *')
  assert.equal(lineOf(600), '*/3 * * * * *')
})

test('where the way to SQL is long, a frame is given the time for it', () => {
  assert.equal(settingsOfAny({ ...least, layerSeconds: 60 }).confirmSeconds, 3 * 60 + 3 + 15)
  assert.equal(settingsOfAny({ ...least, collect: '*/5 * * * *' }).confirmSeconds, 9 + 300 + 15)
})
