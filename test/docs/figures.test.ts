/** The tables of the README and the docs say what the results of the benchmark say. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { COUNTED, LOSING, MIXED, REPEATED } from '../../bench/faults/bound.js'
import { CONTENDERS } from '../../bench/faults/contenders.js'
import { FAULTS } from '../../bench/faults/faults.js'
import { CAUGHT_UP, LOST, TWICE } from '../../bench/faults/measures.js'
import { drawn } from '../../bench/figures/drawn.js'
import { type Read, reader, shown } from '../../bench/figures/measured.js'
import { ALL_TABLES, difference, pages, render, tablesIn } from '../../bench/figures/pages.js'
import { TABLES } from '../../bench/figures/tables.js'
import type { Mode } from '../../bench/harness/part.js'
import { FULL_PARTS, formOf, PARTS } from '../../bench/harness/parts.js'
import { FULL, type Result } from '../../bench/harness/result.js'
import { P99 } from '../../bench/harness/samples.js'
import { spread } from '../../bench/harness/statistics.js'
import * as overhead from '../../bench/overhead/contenders.js'
import { FULL_LOAD, PAGE, YOUNG } from '../../bench/parts/overhead.js'
import { compact } from '../../bench/harness/table.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'

const read = reader()
/** Shorter forms of other tables. */
const EXTRACTS = [
  'costs-and-losses',
  'costs-and-losses-in-short',
  'loss-bound-of-all',
  'relatives-in-short',
]
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
    // A table without rows says so, and one without a result of its form.
    const none = lines.findIndex((line) => /^None\.$|^Not measured yet: /.test(line))
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

test('one page has every table, and the extracts stand elsewhere', () => {
  const without = (name: string): string[] => {
    const { text } = pages().find(({ file }) => file === name)!
    return [...TABLES.keys()].filter((table) => !tablesIn(text).includes(table))
  }
  const extracts = without(ALL_TABLES)
  assert.deepEqual(extracts, EXTRACTS)
  const elsewhere = pages().filter(({ file }) => file !== ALL_TABLES)
  const asked = new Set(elsewhere.flatMap(({ text }) => tablesIn(text)))
  assert(extracts.every((name) => asked.has(name)))
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
  const { rows } = TABLES.get('collecting')!(
    readerOf({ part: 'drain', mode: 'normal', form: formOf('drain'), measures }),
  )
  assert.deepEqual(compact(rows).slice(1), [
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
    '| 1,000 | 30 (20-45) | 40 (30-50) | 50 (38-63) | 100 | 10 (7.5-15) | 90.1 ' +
      '| 1,235 (1,167-1,267) |',
  ])
  assert.equal(shown(spread([0.5, 1, 2])), '1 (0.75-1.5)')
})

test('a result of an earlier form is no figure, and is no error either', () => {
  const text = page('', '<!-- figures: collecting -->', '<!-- /figures -->')
  assert.match(
    render(text, readerOf({ part: 'drain', mode: 'normal', measures: [] })),
    /\nNot measured yet: [^\n]*results\/drain\.json [^\n]* run `npm run bench -- drain`\.\n/,
  )
  const full = page('<!-- figures: loss-bound -->', '<!-- /figures -->')
  assert.match(
    render(full, readerOf({ part: 'faults', mode: 'full', form: 1, measures: [] })),
    /\nNot measured yet: [^\n]*full\/faults\.json [^\n]* run `npm run bench -- faults --full`\.\n/,
  )
})

/** A result of the newest form; each of its series is given by what differs. */
function measured(
  part: string,
  mode: Mode,
  series: readonly [contender: string, setting: string, metric: string, samples: number[]][],
): Partial<Result> {
  const measures = series.map(([contender, setting, metric, samples]) => ({
    contender,
    setting,
    metric,
    better: null,
    samples,
  }))
  return { part, mode, form: formOf(part), measures: measures as unknown as Result['measures'] }
}

test('what a fault costs is time: the median and the worst, of an outage for each second', () => {
  const result = measured(
    'faults',
    'normal',
    FAULTS.flatMap(({ name, seconds }) =>
      CONTENDERS.flatMap(({ label }): Parameters<typeof measured>[2] => {
        const buffer = label === '10 s buffer'
        return [
          [label, name, LOST.metric, buffer ? [500, 9_500, 5_000] : [0, 0, 0]],
          [label, name, TWICE.metric, buffer && seconds === 10 ? [0, 0, 40] : [0, 0, 0]],
          [label, name, CAUGHT_UP.metric, [1, 2, 9]],
        ]
      }),
    ),
  )
  const cell = (table: string, fault: string): unknown =>
    TABLES.get(table)!(readerOf(result)).rows.find((row) => row['fault'] === fault)?.['10 s buffer']
  assert.equal(cell('faults', 'cache flushed'), '5,000 (9,500)')
  assert.equal(cell('faults', 'database away 2 s'), undefined, 'an outage has a table of its own')
  assert.equal(cell('outage-losses', 'database away 2 s'), '2,500 (4,750)')
  assert.equal(cell('outage-losses', 'database away 10 s'), '500 (950); 0 (4) twice')
  assert.equal(cell('catching-up', 'nothing'), '2.0 (9.0)')
})

test('a bound counts the faults of each kind, those that were mixed apart', () => {
  const result = measured('faults', 'full', [
    [REPEATED, 'cache flushed', COUNTED.metric, [100]],
    [REPEATED, 'cache flushed', LOSING.metric, [0]],
    [REPEATED, 'collector killed', COUNTED.metric, [100]],
    [REPEATED, 'collector killed', LOSING.metric, [1]],
    [REPEATED, MIXED, COUNTED.metric, [150]],
    [REPEATED, MIXED, LOSING.metric, [0]],
  ])
  assert.deepEqual(compact(TABLES.get('loss-bound-of-all')!(readerOf(result)).rows).slice(2), [
    '| 2 kinds, one at a time | 1 of 200 faults | less than 4.7 % |',
    '| mixed, several at a time | 0 of 150 faults | less than 2 % |',
  ])
  assert.equal(TABLES.get('loss-bound')!(readerOf(result)).rows.length, 3)
})

test('a cost is that over the hook of its pair, with its interval, and noise is none', () => {
  const rounds = Array.from({ length: 20 }, (_, round) => 80 + round)
  const result = measured(
    'overhead',
    'normal',
    [FULL_LOAD, YOUNG, PAGE].flatMap((setting) =>
      overhead.CONTENDERS.flatMap(({ label }): Parameters<typeof measured>[2] => {
        const over =
          label === overhead.INSERT.label ? 69 : label === overhead.COLLECTS.label ? -3 : 0
        return [
          [label, setting, overhead.CPU.metric, rounds],
          [label, setting, overhead.OVER_HOOK.metric, rounds.map((_, at) => over + (at % 5) - 2)],
          [label, setting, overhead.THROUGHPUT.metric, rounds.map((cpu) => cpu / (cpu + over))],
          [label, setting, overhead.IN_SQL.metric, rounds],
          [label, setting, P99.metric, rounds],
        ]
      }),
    ),
  )
  for (const table of ['overhead', 'overhead-page']) {
    const { rows } = TABLES.get(table)!(readerOf(result))
    const cost = (name: string): unknown =>
      rows.find(({ contender }) => contender === name)?.['µs over an empty hook']
    assert.equal(cost('one `INSERT` per visit'), '69 (68-70)')
    assert.equal(cost('**wide-cache**, which collects'), 'not measurable')
    assert.equal(cost('an empty `finish` hook'), '0')
    // All processes have taken as much as the site, whose hook has taken 69 less.
    const [inSql] = rows.flatMap((row) =>
      row['contender'] === 'one `INSERT` per visit' ? [row['µs until in SQL']] : [],
    )
    assert.equal(inSql, '69 (68-70)')
  }
})

test('losses under load have the number of visits beside them', () => {
  const result = measured(
    'loss',
    'normal',
    ['get and set', 'one append per visit', 'wide-cache'].flatMap(
      (contender): Parameters<typeof measured>[2] =>
        ['35/s', '350/s'].flatMap((rate): Parameters<typeof measured>[2] => [
          [contender, `${rate}, width 15`, 'lost, % of recorded', [rate === '35/s' ? 0.1 : 0]],
          [contender, `${rate}, width 15`, 'visits recorded', [1_000]],
        ]),
    ),
  )
  const [row] = TABLES.get('losses')!(readerOf(result)).rows
  assert.equal(row?.['**wide-cache**, at any rate'], '1 of 2,000')
})

test('every picture is that of its result', () => {
  for (const { file, is, shouldBe } of drawn()) {
    assert(is === shouldBe, `${file} is not that of its result; run \`npm run figures\``)
  }
})

test('targets that a run did not show are listed, and none is said so', () => {
  const result = (part: string, mode: Mode, holds: boolean): Partial<Result> => ({
    part,
    mode,
    form: formOf(part),
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
