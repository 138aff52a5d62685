/** The tables of the README and the docs say what the results of the benchmark say. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type Read, reader, shown } from '../../bench/figures/measured.js'
import { difference, pages, render, tablesIn } from '../../bench/figures/pages.js'
import { TABLES } from '../../bench/figures/tables.js'
import type { Mode } from '../../bench/harness/part.js'
import { FULL_PARTS, PARTS } from '../../bench/harness/parts.js'
import { FULL, type Result } from '../../bench/harness/result.js'
import { spread } from '../../bench/harness/statistics.js'
import { compact } from '../../bench/harness/table.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'

const read = reader()
const folder = temporaryFolder('figures')
after(() => removeFolder(folder))

function page(...lines: string[]): { file: string; text: string } {
  return { file: 'docs/some.md', text: lines.join('\n') }
}

/** Results as a folder holds them. */
function readerOf(...results: Partial<Result>[]): Read {
  const own = pathToFileURL(`${mkdtempSync(join(folder, 'results-'))}/`)
  mkdirSync(new URL(FULL, own))
  for (const result of results) {
    const place = result.mode === 'full' ? new URL(FULL, own) : own
    writeFileSync(new URL(`${result.part}.json`, place), JSON.stringify(result))
  }
  return reader(own)
}

for (const { file, text } of pages()) {
  test(`${file} has the figures of bench/results`, () => {
    const wrong = difference(file, text, render({ file, text }, read))
    assert.equal(wrong, undefined, wrong)
  })
}

test('a wrong figure is found, in every table', () => {
  for (const name of TABLES.keys()) {
    const sound = render(page('Text.', `<!-- figures: ${name} -->`, '<!-- /figures -->'), read)
    assert.equal(
      render({ file: 'docs/some.md', text: sound }, read),
      sound,
      'what is rendered stays as it is',
    )
    const lines = sound.split('\n')
    // A table without rows says so.
    const none = lines.indexOf('None.')
    const at = none === -1 ? lines.findLastIndex((line) => /\d/.test(line)) : none
    assert(at >= 2, `${name} has a figure, or none`)
    const planted = lines
      .with(
        at,
        none === -1
          ? lines[at]!.replace(/\d(?=\D*$)/, (digit) => String((Number(digit) + 1) % 10))
          : 'Some 1.',
      )
      .join('\n')
    const wrong = difference(
      'docs/some.md',
      planted,
      render({ file: 'docs/some.md', text: planted }, read),
    )
    assert.match(wrong ?? '', new RegExp(`^docs/some\\.md:${at + 1} .*npm run figures`), name)
  }
})

test('docs/benchmarks.md has every table', () => {
  const { text } = pages().find(({ file }) => file === 'docs/benchmarks.md')!
  assert.deepEqual(
    [...TABLES.keys()].filter((name) => !tablesIn(text).includes(name)),
    [],
  )
})

test('a table that was written by hand between the marks is replaced, and nothing else is', () => {
  const text = [
    '# Title',
    '',
    '<!-- figures: machine -->',
    '| processor |',
    'a sentence',
    '<!-- /figures -->',
    '',
    'The end.',
  ].join('\n')
  const lines = render({ file: 'docs/some.md', text }, read).split('\n')
  assert.deepEqual(lines.slice(0, 5), [
    '# Title',
    '',
    '<!-- figures: machine -->',
    '',
    '| what | measured with |',
  ])
  assert.deepEqual(lines.slice(-4), ['', '<!-- /figures -->', '', 'The end.'])
  assert(!lines.includes('a sentence'))
})

test('an error names the file and the line', () => {
  const table = '<!-- figures: machine -->'
  const end = '<!-- /figures -->'
  const cases: [what: ReturnType<typeof page>, complaint: RegExp][] = [
    [
      page('', '<!-- figures: looses -->', end),
      /^docs\/some\.md:2: there is no table "looses"; there are .*\blosses\b/,
    ],
    [page('', '<!-- figures: -->', end), /^docs\/some\.md:2: there is no table ""/],
    [page('', table, '| a |'), /^docs\/some\.md:2: .* is missing$/],
    [page(table, table, end), /^docs\/some\.md:1: .* is missing before the next table at line 2/],
    [page('', '', end), /^docs\/some\.md:3: .* ends a table that did not begin/],
  ]
  for (const [one, message] of cases) assert.throws(() => render(one, read), { message })
})

test('a missing, quick or incomplete result is an error that names file and line', () => {
  const text = page('', '<!-- figures: retention -->', '<!-- /figures -->')
  const measures = [
    { contender: 'retention', setting: '1000', metric: 'rows/s', better: null, samples: [5, 7, 6] },
  ] as unknown as Result['measures']
  assert.throws(
    () => render(text, readerOf()),
    /^Error: docs\/some\.md:2: .*bench\/results\/retention\.json: run `npm run bench -- retention`/,
  )
  assert.throws(
    () => render(text, readerOf({ part: 'retention', mode: 'quick', measures })),
    /^Error: docs\/some\.md:2: bench\/results\/retention\.json is of a quick run/,
  )
  assert.throws(
    () => render(text, readerOf({ part: 'retention', mode: 'normal', measures })),
    /^Error: docs\/some\.md:2: no samples of collector, 1000: rows\/s/,
  )
  assert.throws(
    () => render(page('', '<!-- figures: loss-bound -->', '<!-- /figures -->'), readerOf()),
    /^Error: .*bench\/results\/full\/faults\.json: run `npm run bench -- faults --full`/,
  )
})

test('a table shows medians and the middle half of the rounds, and ratios within a round', () => {
  const of = (contender: string, metric: string, ...samples: number[]) => ({
    contender,
    setting: '1000',
    metric,
    better: null,
    samples,
  })
  const measures = [
    of('collector', 'rows/s', 30, 10, 60),
    of('collector, with sums only', 'rows/s', 40, 20, 60),
    of('raw INSERTs of 1,000', 'rows/s', 60, 40, 80),
    of('raw INSERTs and their sums', 'rows/s', 30, 10, 60),
    of('single INSERTs', 'rows/s', 3, 2, 3),
    of('collector', 'peak RSS, MiB', 90.123, 90.124, 90.125),
    of('collector', 'heap after gc, MiB', 1234.5, 1300, 1100),
  ] as unknown as Result['measures']
  const { rows } = TABLES.get('collecting')!(readerOf({ part: 'drain', mode: 'normal', measures }))
  assert.deepEqual(compact(rows).slice(1), [
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
    '| 1,000 | 30 (20-45) | 40 (30-50) | 50 (38-63) | 100 | 10 (7.5-15) | 90.1 ' +
      '| 1,235 (1,167-1,267) |',
  ])
  assert.equal(shown(spread([0.5, 1, 2])), '1 (0.75-1.5)')
})

test('targets that a run did not show are listed, and none is said so', () => {
  const result = (part: string, mode: Mode, holds: boolean): Partial<Result> => ({
    part,
    mode,
    measures: [],
    claims: part === 'stats' || mode === 'full' ? [{ text: 'pigs | fly', holds }] : [],
  })
  const results = (holds: boolean) => [
    ...PARTS.map((part) => result(part, 'normal', holds)),
    ...FULL_PARTS.map((part) => result(part, 'full', holds)),
  ]
  const text = page('<!-- figures: missed -->', '<!-- /figures -->')
  const missed = render(text, readerOf(...results(false)))
  assert.match(missed, /\n\| stats \| pigs \\\| fly \|\n\| faults --full \| pigs/)
  assert.match(render(text, readerOf(...results(true))), /\n\nNone\.\n\n/)
})
