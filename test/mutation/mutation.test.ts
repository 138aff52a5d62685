import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Random } from '../simulated-world/random.js'
import { JUDGES, tests } from './judges.js'
import { type Mutant, mutantsOf } from './mutants.js'
import { court, sampleOf, tried } from './run.js'
import { outdated, readExplanations } from './survivors.js'
import { sourcesOf, Workbench } from './workbench.js'

const FILE = 'sequence/tiny.ts'
const SOURCE = `import { log } from './log.js'

/** Is it more? */
export function more(a: number, b: number): string {
  assert(a > 0)
  if (a >= b) log('a is more')
  return 'SELECT n FROM t WHERE a = ? AND n BETWEEN ? AND ? OR b <= ?'
}
`

function changes(mutants: readonly Mutant[]): string[] {
  return mutants.map(({ kind, line, is }) => `${line} ${kind}: ${is}`)
}

test('mutants change code or SQL in one place, but no message or assertion', async () => {
  const mutants = await mutantsOf(FILE, SOURCE)
  const query = (text: string): string => `return 'SELECT n FROM t WHERE ${text}'`
  assert.deepEqual(changes(mutants), [
    `4 BlockStatement: export function more(a: number, b: number): string {}`,
    `6 ConditionalExpression: if (true) log('a is more')`,
    `6 ConditionalExpression: if (false) log('a is more')`,
    `6 EqualityOperator: if (a > b) log('a is more')`,
    `6 EqualityOperator: if (a < b) log('a is more')`,
    `6 StatementRemoval: if (a >= b) ;`,
    `7 Sql: ${query('a <> ? AND n BETWEEN ? AND ? OR b <= ?')}`,
    `7 Sql: ${query('a = ? OR n BETWEEN ? AND ? OR b <= ?')}`,
    `7 Sql: ${query('a = ? AND n BETWEEN ? AND ? OR b < ?')}`,
  ])
  for (const { was, is, text } of mutants.slice(1)) {
    assert.notEqual(was, is)
    assert.equal(
      text.replace(is, () => was),
      SOURCE,
    )
  }
})

test('a sample has different mutants in source order, and is the same for the same seed', () => {
  const items = Array.from({ length: 50 }, (_, i) => i)
  const sample = sampleOf(items, 10, new Random(1))
  assert.equal(new Set(sample).size, 10)
  assert.deepEqual(
    sample,
    sample.toSorted((a, b) => a - b),
  )
  assert.deepEqual(sampleOf(items, 10, new Random(1)), sample)
  assert.notDeepEqual(sampleOf(items, 10, new Random(2)), sample)
  assert.deepEqual(sampleOf(items, 60, new Random(1)), items)
})

test('a test that fails or never ends finds a mutant; the copy is then restored', async () => {
  const bench = new Workbench()
  try {
    const source =
      'export function countTo(end: number): number {\n  let n = 0\n  while (n < end) n++\n  ' +
      'return n\n}\n'
    const path = join(bench.folder, 'src/tiny.ts')
    writeFileSync(path, source)
    const test = `test('counts', () => { assert(countTo(2) > 0); assert(countTo(0) < 2) })`
    writeFileSync(
      join(bench.folder, 'src/tiny.test.ts'),
      `import assert from 'node:assert/strict'\nimport { test } from 'node:test'\nimport { ` +
        `countTo } from './tiny.js'\n${test}\n`,
    )
    const { judges } = await court([tests('unit tests', '.', 'src/tiny.test.ts')], bench)
    const quick = { judges: judges.map((one) => ({ ...one, timeoutMs: 5_000 })) }
    const results = new Map<string, string>()
    for (const mutant of await mutantsOf('tiny.ts', source)) {
      results.set(mutant.is, (await tried(mutant, quick, bench))?.says ?? 'survives')
    }
    assert.deepEqual(Object.fromEntries([...results].slice(1)), {
      'while (false) n++': 'counts',
      'while (n <= end) n++': 'survives',
      'while (n >= end) n++': 'counts',
      'while (n < end) n--': 'not done after 5 s',
    })
    assert.equal(readFileSync(path, 'utf8'), source)
    await assert.rejects(
      court([tests('no tests', 'no such name', 'src/tiny.test.ts')], bench),
      /The no tests fail without a mutant/,
    )
  } finally {
    bench.close()
  }
})

test('every explained survivor is a mutant of the present source, with its reason', async () => {
  const mutants = (
    await Promise.all(
      Object.keys(JUDGES)
        .flatMap((part) => sourcesOf(part))
        .map(({ file, text }) => mutantsOf(file, text)),
    )
  ).flat()
  const explanations = readExplanations()
  assert.deepEqual(outdated(explanations, mutants), [])
  assert.deepEqual(
    explanations.filter(({ why }) => why.length < 20),
    [],
  )
})
