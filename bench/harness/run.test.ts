import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { memcached } from '../../src/cache/memcached/memcached.js'
import { barOf } from './chart.js'
import type { Bench, Part } from './part.js'
import { parse, type Result } from './result.js'
import { run, tablesOf } from './run.js'
import { type Metric, Samples } from './samples.js'

const RATE: Metric = { metric: 'operations/s', better: 'more' }

/** Runs a part that does `work`, and reads back what it left. */
async function ran(
  work: (bench: Bench) => Promise<void>,
): Promise<{ shown: boolean; result: Result }> {
  const folder = await mkdtemp(join(tmpdir(), 'wide-cache-bench-'))
  const part: Part = {
    async run(bench) {
      await work(bench)
      const { median, low, high } = bench.samples.spread('ours', 'hello', RATE)
      return {
        type: 'bars',
        title: 'Rates <of> hello',
        x: { name: 'operations/s' },
        groups: [{ bars: [barOf('ours', { median, low, high })] }],
      }
    },
  }
  try {
    const shown = await run('probe', part, 'quick', pathToFileURL(`${folder}/`))
    return {
      shown,
      result: parse(await readFile(join(folder, 'probe.json'), 'utf8')),
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function rates(...values: number[]): (bench: Bench) => Promise<void> {
  return async ({ samples }) => {
    for (const value of values) samples.add('ours', 'hello', RATE, value)
  }
}

test('a part has its own servers, and its result says where and how it was measured', async () => {
  let address = ''
  const { shown, result } = await ran(async (bench) => {
    address = (await bench.memcached()).address
    const cache = memcached(address)
    await cache.set('key', Buffer.from('value'), 60)
    await cache.close()
    assert.equal(bench.setting('callers', 3, 30), 3)
    for (const rate of [100, 300, 200]) bench.samples.add('ours', 'hello', RATE, rate)
    bench.claim('it runs', true)
  })
  assert(shown)
  assert.deepEqual(result.settings, { callers: 3 })
  assert.deepEqual(result.measures, [
    {
      contender: 'ours',
      setting: 'hello',
      ...RATE,
      samples: [100, 300, 200],
      median: 200,
      low: 150,
      high: 250,
    },
  ])
  assert.match(result.versions['memcached'] ?? '', /^\d+\.\d+/)
  assert(result.machine.cores > 0 && result.mode === 'quick' && Date.parse(result.date) > 0)
  assert.match(result.commit, /^[0-9a-f]{40}\+?$/)
  assert(result.form === 1 && result.sources.includes('src/wide-cache'))
  assert.deepEqual(result.chart, {
    type: 'bars',
    title: 'Rates <of> hello',
    x: { name: 'operations/s' },
    groups: [{ bars: [{ name: 'ours', value: 200, low: 150, high: 250 }] }],
  })
  const gone = memcached(address)
  await assert.rejects(gone.get('key'), { code: 'CACHE_UNREACHABLE' })
  await gone.close()
})

test('the log tells a claim that was not shown; servers of a failed part are stopped', async () => {
  const { shown, result } = await ran(async (bench) => {
    await rates(1)(bench)
    bench.claim('pigs fly', false)
  })
  assert.equal(shown, false)
  assert.deepEqual(result.claims, [{ text: 'pigs fly', holds: false }])
  const ended: string[] = []
  await assert.rejects(
    ran(async (bench) => {
      bench.after(() => ended.push('first'))
      bench.after(() => ended.push('last'))
      throw new Error('a contender counted wrongly')
    }),
    /counted wrongly/,
  )
  assert.deepEqual(ended, ['last', 'first'])
  await assert.rejects(ran(rates(1, NaN)), /operations\/s is NaN/)
  assert.throws(() => parse('{"rows":[]}'), /no result of this benchmark/)
})

test('ratios are taken within a round', async () => {
  await ran(async (bench) => {
    for (const [ours, theirs] of [
      [100, 50],
      [10, 5],
      [30, 15],
    ] as const) {
      bench.samples.add('ours', 'hello', RATE, ours)
      bench.samples.add('theirs', 'hello', RATE, theirs)
    }
    assert.deepEqual(bench.samples.ratio('ours', 'theirs', 'hello', RATE), {
      median: 2,
      low: 2,
      high: 2,
    })
    assert.throws(() => bench.samples.of('nobody', 'hello', RATE), /no samples of nobody, hello/)
  })
})

test('a table for each metric is printed, with the more of contenders and settings in rows', () => {
  const samples = new Samples()
  for (const [at, setting] of ['1', '8', '64'].entries()) samples.add('ours', setting, RATE, at)
  samples.add('theirs', '8', RATE, 7)
  assert.deepEqual(tablesOf(samples.measures()), [
    {
      title: 'operations/s',
      rows: [
        { setting: '1', ours: '0 (0-0)', theirs: '' },
        { setting: '8', ours: '1 (1-1)', theirs: '7 (7-7)' },
        { setting: '64', ours: '2 (2-2)', theirs: '' },
      ],
    },
  ])
  samples.add('none', '', { metric: 'ms', better: null }, 5)
  assert.deepEqual(tablesOf(samples.measures())[1], {
    title: 'ms',
    rows: [{ contender: 'none', '': '5 (5-5)' }],
  })
})
