import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Result } from '../harness/result.js'
import { spread } from '../harness/statistics.js'
import { commitOf, titleOf, workingTree } from './tree.js'
import { judge, verdict } from './verdict.js'

const folder = mkdtempSync(join(tmpdir(), 'wide-cache-compare-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Runs of a part with one sample each. */
function runs(
  metrics: Record<string, readonly number[]>,
  settings: Result['settings'] = {},
): Result[] {
  const count = Object.values(metrics)[0]!.length
  return Array.from({ length: count }, (_, run) => ({
    part: 'drain',
    settings,
    measures: Object.entries(metrics).map(([metric, values]) => ({
      contender: 'ours',
      setting: 'all',
      metric,
      better: metric === 'ms' ? 'less' : 'more',
      samples: [values[run]!],
      ...spread([values[run]!]),
    })),
  })) as unknown as Result[]
}

test('a measure is worse only if every run is, by 5 % or more, and there are three of each', () => {
  assert.equal(judge([100, 104, 108], [90, 91, 92], 'more'), 'worse')
  assert.equal(judge([100, 104, 108], [90, 91, 92], 'less'), 'better')
  assert.equal(judge([90, 91, 92], [100, 104, 108], 'more'), 'better')
  assert.equal(judge([90, 91, 92], [100, 104, 108], 'less'), 'worse')
  assert.equal(judge([100, 104, 108], [90, 91, 101], 'more'), '', 'one run is as good')
  assert.equal(judge([100, 101, 102], [97, 98, 99], 'more'), '', 'by 3 %')
  assert.equal(judge([100, 100], [50, 50], 'more'), '', 'two runs')
  assert.equal(judge([100, 104, 108], [90, 91, 92], null), '', 'no way is better')
  assert.equal(judge([0, 0, 0], [1, 2, 1], 'less'), 'worse', 'losses where there were none')
  assert.equal(judge([0, 0, 0], [0, 0, 0], 'less'), '')
})

test('the table has a ratio for each pair of runs, and says what is not comparable', () => {
  const { table, worse, notes } = verdict(
    {
      then: runs({ 'rows/s': [100, 200, 150], ms: [1, 1, 1], old: [1, 1, 1] }, { rounds: 5 }),
      now: runs({ 'rows/s': [110, 200, 180], ms: [2, 2, 2] }, { rounds: 7 }),
    },
    'abc1234',
  )
  assert.deepEqual(table.rows, [
    {
      contender: 'ours',
      setting: 'all',
      metric: 'rows/s',
      abc1234: '150',
      now: '180',
      ratio: '1.10 (1.05-1.15)',
      verdict: '',
    },
    {
      contender: 'ours',
      setting: 'all',
      metric: 'ms',
      abc1234: '1',
      now: '2',
      ratio: '2.00 (2.00-2.00)',
      verdict: 'worse',
    },
  ])
  assert.deepEqual(worse, ['ours, all: ms'])
  assert.deepEqual(notes, [
    '1 measures have gone: they are not compared.',
    'Setting "rounds": 5, now 7.',
  ])
  assert.throws(
    () => verdict({ then: runs({ a: [1] }), now: runs({ b: [1] }) }, 'abc1234'),
    /no measure of "drain" in common/,
  )
})

test('a commit is found by any name, an unknown one is refused, changed files are counted', () => {
  const git = (...args: string[]) =>
    execFileSync(
      'git',
      ['-c', 'user.name=A', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...args],
      { cwd: folder, encoding: 'utf8' },
    ).trim()
  assert.throws(() => commitOf('HEAD', folder), /needs a git repository/)
  git('init', '--quiet')
  writeFileSync(join(folder, 'file'), 'one')
  git('add', '.')
  git('commit', '--quiet', '--message', 'Say one')
  git('tag', 'v1')
  const hash = git('rev-parse', 'HEAD')
  assert.equal(commitOf('v1', folder), hash)
  assert.equal(titleOf(hash, folder), `${hash.slice(0, 7)} Say one`)
  assert.equal(workingTree(folder), `the working tree (${hash.slice(0, 7)})`)
  writeFileSync(join(folder, 'file'), 'two')
  assert.equal(workingTree(folder), `the working tree (${hash.slice(0, 7)} and 1 changed file)`)
  assert.throws(() => commitOf('v2', folder), /no commit "v2": --against takes a hash, a tag/)
  assert.throws(() => commitOf('--all', folder), /no commit "--all"/)
})
