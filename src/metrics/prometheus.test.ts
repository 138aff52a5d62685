import assert from 'node:assert/strict'
import { test } from 'node:test'
import { counter, gauge, readingsOf } from './metric.js'
import { joinMetrics, prometheusText } from './prometheus.js'

const ROWS = counter('rows', '{row}', 'Rows.')
const source = (text: string) => ({ metrics: () => text })

test('a page has a HELP, a TYPE and a line for each series', () => {
  const page = prometheusText([
    {
      metric: ROWS,
      samples: [
        { labels: { name: 'a' }, value: 3 },
        { labels: { name: 'b', server: 'h:1' }, value: 0.5 },
      ],
    },
    { metric: gauge('lag_seconds', 's', 'Lag.'), samples: [{ labels: {}, value: 1e21 }] },
    { metric: gauge('nothing', '{row}', 'No series.'), samples: [] },
  ])
  assert.equal(
    page,
    '# HELP wide_cache_rows_total Rows.\n' +
      '# TYPE wide_cache_rows_total counter\n' +
      'wide_cache_rows_total{name="a"} 3\n' +
      'wide_cache_rows_total{name="b",server="h:1"} 0.5\n' +
      '# HELP wide_cache_lag_seconds Lag.\n' +
      '# TYPE wide_cache_lag_seconds gauge\n' +
      'wide_cache_lag_seconds 1e+21\n',
  )
})

test('no label, help or number breaks a line', () => {
  const page = prometheusText([
    {
      metric: { name: 'x', type: 'gauge', unit: 's', help: 'a\\b\nc"d' },
      samples: [Infinity, -Infinity, NaN].map((value, n) => ({
        labels: { name: `${n}\\"\n}` },
        value,
      })),
    },
  ])
  assert.equal(
    page,
    '# HELP x a\\\\b\\nc"d\n# TYPE x gauge\n' +
      'x{name="0\\\\\\"\\n}"} +Inf\nx{name="1\\\\\\"\\n}"} -Inf\nx{name="2\\\\\\"\\n}"} NaN\n',
  )
})

test('a value that is not known has no line', () => {
  const table = { known: ROWS, unknown: gauge('lag_seconds', 's', 'Lag.') }
  assert.deepEqual(readingsOf(table, { name: 'a' }, { known: 0, unknown: undefined }), [
    { metric: ROWS, samples: [{ labels: { name: 'a' }, value: 0 }] },
  ])
})

test('joined pages have each metric once, with all series of both', async () => {
  const page = (name: string, value: number): string =>
    prometheusText([{ metric: ROWS, samples: [{ labels: { name }, value }] }])
  assert.equal(
    await joinMetrics(
      source(page('a } b', 1)),
      source(page('a', 2)),
      source(page('a', 3)),
      source(page('a } c', 4)),
    ),
    '# HELP wide_cache_rows_total Rows.\n' +
      '# TYPE wide_cache_rows_total counter\n' +
      'wide_cache_rows_total{name="a } b"} 1\n' +
      'wide_cache_rows_total{name="a"} 2\n' +
      'wide_cache_rows_total{name="a } c"} 4\n',
    'of two with the same labels the first',
  )
  assert.equal(await joinMetrics(), '')
})

test('pages of others keep histograms, timestamps and metrics without a type', async () => {
  const histogram =
    '# HELP http_seconds Duration.\n# TYPE http_seconds histogram\n' +
    'http_seconds_bucket{le="0.1"} 1\nhttp_seconds_bucket{le="+Inf"} 2\n' +
    'http_seconds_sum 0.4\nhttp_seconds_count 2\n'
  const bare = 'up 1 1395066363000\nup{a="\\"}"} 1\n'
  const page = await joinMetrics(
    { metrics: async () => bare },
    source(histogram),
    source('# a comment\n\n# TYPE up gauge\nup 0\nup{a="b"} 0'),
  )
  assert.equal(
    page,
    '# TYPE up gauge\nup 1 1395066363000\nup{a="\\"}"} 1\nup{a="b"} 0\n' + histogram,
  )
})

test('a metric without a type that stands under another one is its own', async () => {
  const page = '# TYPE up gauge\nup 1\nfoo 1\n'
  assert.equal(await joinMetrics(source(page), source('foo 2\n')), page)
})

test('a source that fails fails the page', async () => {
  const broken = { metrics: () => Promise.reject(new Error('closed')) }
  await assert.rejects(joinMetrics(source(''), broken), /closed/)
})

test('samples of a histogram stand under its comments, whatever page has them', async () => {
  const comments = '# HELP took Seconds.\n# TYPE took histogram\n'
  const other = '# TYPE other counter\nother 1\n'
  const samples = 'took_bucket{le="+Inf"} 2\ntook_sum 3\ntook_count 2\n'
  const pages = [`${comments}${other}`, `${comments}${samples}`]
  const joined = await joinMetrics(...pages.map((page) => ({ metrics: async () => page })))
  assert.equal(joined, `${comments}${samples}${other}`)
})
