import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ALL } from '../scale.js'
import { Random } from '../simulated-world/random.js'
import { testsThatCall } from './coverage.js'
import { choice, JUDGES, judgesOf, tests } from './judges.js'
import { lawsOf } from './near.js'
import { type Mutant, mutantsOf } from './mutants.js'
import { Court, halfSemantic, sampleOf } from './run.js'
import { isSemantic, SEMANTIC_MUTATORS } from './semantic.js'
import { table } from './summary.js'
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

/** Each test that judges writes its own tiny source and its tests. */
const bench = new Workbench()
after(() => bench.close())

const sources = Object.keys(JUDGES).flatMap((part) => sourcesOf(part))

function changes(mutants: readonly Mutant[]): string[] {
  return mutants.map(({ mutator, line, is }) => `${line} ${mutator}: ${is}`)
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

const CLASS = `const SUMS = table('sums', ['id'], ['sum', 'add'], ['last', 'replace'], 'first')
class Sums {
  readonly #database: Database
  #running?: Promise<void>

  async write(rows: Row[], tx: Transaction): Promise<void> {
    await tx.query(SELECT + forUpdate(tx.dialect))
    if (this.closed) return
    await SUMS.upsert(tx, rows)
    this.written = rows.length
  }

  run(rows: Row[]): Promise<void> {
    return (this.#running ??= this.#once(rows))
  }

  async #once(rows: Row[]): Promise<void> {
    try {
      while (await this.more()) await upsert(rows)
      return await this.#database.transaction((tx) => this.write(rows, tx))
    } catch (error) {
      if (!isLock(error)) throw error
    } finally {
      this.#running = undefined
    }
  }
}
`

test('semantic mutants change the order of steps, their transaction, or what is left', async () => {
  const mutants = (await mutantsOf(FILE, CLASS)).filter(isSemantic)
  const work = '(tx) => this.write(rows, tx)'
  const query = 'query(SELECT + forUpdate(tx.dialect))'
  const sums = `const SUMS = table('sums', ['id'],`
  assert.deepEqual(changes(mutants), [
    `1 Merge: ${sums} ['sum', 'replace'], ['last', 'replace'], 'first')`,
    `1 Merge: ${sums} ['sum', 'add'], 'last', 'first')`,
    `7 OrderSwap: if (this.closed) return await tx.${query}`,
    `7 OutsideTransaction: await this.#database.${query}`,
    `7 LockLost: await tx.query(SELECT + '')`,
    `8 OrderSwap: await SUMS.upsert(tx, rows) if (this.closed) return`,
    `8 SecondLook: if (false) return`,
    `9 AwaitRemoval: void SUMS.upsert(tx, rows)`,
    `9 OrderSwap: this.written = rows.length await SUMS.upsert(tx, rows)`,
    `9 OutsideTransaction: await SUMS.upsert(this.#database, rows)`,
    `10 StateLost: ;`,
    `14 Unshared: return (this.#running = this.#once(rows))`,
    `19 LoopOnce: if (await this.more()) await upsert(rows)`,
    `19 AwaitRemoval: while (this.more()) await upsert(rows)`,
    `19 AwaitRemoval: while (await this.more()) void upsert(rows)`,
    `20 AwaitRemoval: return this.#database.transaction(${work})`,
    `20 NoTransaction: return await Promise.resolve(this.#database).then(${work})`,
    `20 OutsideTransaction: return await this.#database.transaction((tx) => ` +
      'this.write(rows, this.#database))',
    `22 ErrorSwallowed: if (!isLock(error)) ;`,
    `24 ResetLost: ;`,
  ])
})

test('semantic mutants leave out a value of a key, and read the time of the machine', async () => {
  const source = `export const key = (name: string, at: Date): string =>
  \`top:\${name}:\${at.getUTCDate()}\`
const text = (a: string, b: string): string => \`\${a} is \${b}\`
const memo = JSON.stringify([text, key])
schedule(line, run, { timezone: 'UTC' })
`
  assert.deepEqual(changes((await mutantsOf(FILE, source)).filter(isSemantic)), [
    '2 KeyPart: `top::${at.getUTCDate()}`',
    '2 KeyPart: `top:${name}:`',
    '2 LocalTime: `top:${name}:${at.getDate()}`',
    `4 KeyPart: const memo = JSON.stringify(['', key])`,
    `4 KeyPart: const memo = JSON.stringify([text, ''])`,
    '5 LocalTime: schedule(line, run, { ...{} })',
  ])
})

test('awaited statements change places only if the second needs nothing of the first', async () => {
  const source = `export async function all() {
  const a = await first()
  const b = await second(a)
  await third()
  assert(b > 0)
  for (;;) {
    if (await fourth()) return b
    await fifth()
  }
}
`
  const mutants = (await mutantsOf(FILE, source)).filter(({ mutator }) => /Swap|Loop/.test(mutator))
  assert.deepEqual(changes(mutants), [
    `3 AwaitSwap: await third() const b = await second(a)`,
    `6 LoopOnce: { if (await fourth()) return b await fifth() }`,
    `7 AwaitSwap: await fifth() if (await fourth()) return b`,
  ])
})

test('every semantic mutator has mutants in the sources', async () => {
  const missing = new Set(Object.keys(SEMANTIC_MUTATORS))
  for (const { file, text } of sources) {
    for (const { mutator } of await mutantsOf(file, text)) missing.delete(mutator)
    if (missing.size === 0 && !ALL) return
  }
  assert.deepEqual([...missing], [])
})

test('half of a sample is semantic, where there are enough of both', () => {
  const items = Array.from({ length: 40 }, (_, i) => ({ i, mutator: i < 8 ? 'AwaitSwap' : 'Sql' }))
  const mutatorsOf = (count: number): number[] => {
    const sample = halfSemantic(items, count, new Random(1))
    assert.deepEqual(
      sample,
      items.filter((one) => sample.includes(one)),
    )
    return [sample.filter(isSemantic).length, sample.length]
  }
  assert.deepEqual(mutatorsOf(10), [5, 10])
  assert.deepEqual(mutatorsOf(30), [8, 30])
  assert.deepEqual(mutatorsOf(38), [8, 38])
  assert.deepEqual(mutatorsOf(99), [8, 40])
})

test('every folder of the sources has judges, and those near a source come first', () => {
  const folders = readdirSync(new URL('../../src', import.meta.url), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  assert.deepEqual(Object.keys(JUDGES).sort(), [...folders, 'browser', 'postgres', 'redis'].sort())
  const near = (source: string): string[] => judgesOf(source)[0]!.args.slice(4).sort()
  assert.deepEqual(near('activity/page.ts'), [
    'src/activity/page.test.ts',
    'src/activity/visit.test.ts',
  ])
  // By its name only.
  assert(
    near('wide-cache/collector/collector.ts').includes(
      'src/wide-cache/collector/collector.test.ts',
    ),
  )
  // No test imports these: that of what imports them.
  assert.deepEqual(near('visitors/salt.ts'), ['src/visitors/pseudonymizer.test.ts'])
  // As slow as it is.
  assert.deepEqual(near('activity/certificate.ts'), [
    'src/activity/certificate.test.ts',
    'src/activity/day-closing.test.ts',
    'src/activity/remove-value.test.ts',
    'src/activity/tampering.test.ts',
    'src/activity/zones.test.ts',
  ])
  assert.deepEqual(
    judgesOf('database/mysql/session.ts').map(({ name }) => name),
    [
      'tests near it',
      'tests near it, on servers',
      'laws',
      ...JUDGES['database']!.map(({ name }) => name),
    ],
  )
})

test('the summary has a line for each folder, and one for all', () => {
  const row = { part: 'hits', mutants: 40, found: 30, timedOut: 1, explained: 9, seconds: 5 }
  assert.deepEqual(table([row, { ...row, part: 'cli', found: 40, explained: 0 }]).split('\n'), [
    '| folder | mutants | found | of them timed out | survivors explained | seconds |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    '| `hits` | 40 | 30 (75 %) | 1 | 9 of 10 | 5 |',
    '| `cli` | 40 | 40 (100 %) | 1 | 0 of 0 | 5 |',
    '| `all` | 80 | 70 (88 %) | 2 | 9 of 10 | 10 |',
  ])
})

test('a test that fails or never ends finds a mutant; the copy is then restored', async () => {
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
  const court = new Court(bench, 2_000)
  const judge = tests('unit tests', '.', ['src/tiny.test.ts'])
  const results = new Map<string, string>()
  for (const mutant of await mutantsOf('tiny.ts', source)) {
    const says = (await court.tried(mutant, [judge]))?.says ?? 'survives'
    results.set(mutant.is, says.replace(/after \d+ s/, 'in time'))
  }
  assert.deepEqual(Object.fromEntries([...results].slice(1)), {
    'while (false) n++': 'counts',
    'while (n <= end) n++': 'survives',
    'while (n >= end) n++': 'counts',
    'while (n < end) n--': 'not done in time',
  })
  assert.equal(readFileSync(path, 'utf8'), source)
  const none = tests('no tests', 'no such name', ['src/tiny.test.ts'])
  assert.deepEqual(await court.known(none), { timeoutMs: 0 })
  assert.match(court.leftOut.join(), /^Error: The no tests fail without a mutant: 0 passed$/)
  const empty = { ...choice('none', 'nor this', ['src/tiny.test.ts']), mayBeEmpty: true }
  assert.deepEqual(await court.known(empty), { timeoutMs: 0 })
})

test('a mutant is judged by the tests that call its function, where that is known', async () => {
  const source = `export const two = 1 + 1
export function called(n: number): number {
  return n + two
}
export function uncalled(n: number): number {
  return n - two
}
`
  writeFileSync(join(bench.folder, 'src/tiny.ts'), source)
  writeFileSync(
    join(bench.folder, 'src/tiny.test.ts'),
    `import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { called } from './tiny.js'
test('calls nothing', () => {})
describe('those', { concurrency: 2 }, () => {
  test('that call (it) once', () => assert.equal(called(1), 3))
  test('that call it also', async () => {
    assert.equal(called(2), 4)
    await new Promise((resolve) => setTimeout(resolve, 50))
  })
  test('that end earlier', () => {})
  test('that skip themselves', (context) => context.skip('here'))
  test('that come later', () => {})
})
`,
  )
  const { coverage } = await new Court(bench).known(choice('units', '.', ['src/tiny.test.ts']))
  const callers = (code: string): string[] | undefined =>
    testsThatCall(coverage!, 'src/tiny.ts', source.indexOf(code))?.sort()
  assert.deepEqual(callers('n + two'), ['that call (it) once', 'that call it also'])
  assert.deepEqual(callers('n - two'), [])
  // Run by loading the file, so by all.
  assert.equal(callers('1 + 1'), undefined)
  assert.equal(testsThatCall(coverage!, 'src/other.ts', 5), undefined)
})

test('a test that fails without a mutant does not judge', async () => {
  const source = 'export function called(n: number): number {\n  return n + 2\n}\n'
  writeFileSync(join(bench.folder, 'src/tiny.ts'), source)
  const names = Array.from({ length: 10 }, (_, i) => `${i}`)
  const text = (failing: readonly string[]): string => `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { called } from './tiny.js'
for (const name of ${JSON.stringify(names)}) test(name, () => { called(1) })
for (const name of ${JSON.stringify(failing)}) test(name, () => {
  setInterval(() => {}, 1_000) // A test that fails may leave something behind.
  assert.equal(called(1), 0)
})
`
  const judge = choice('units', '.', ['src/tiny.test.ts'])
  const [mutant] = await mutantsOf('tiny.ts', source)
  writeFileSync(join(bench.folder, 'src/tiny.test.ts'), text(['fails']))
  assert.equal(await new Court(bench).tried(mutant!, [judge]), undefined)
  writeFileSync(join(bench.folder, 'src/tiny.test.ts'), text(['fails', 'too']))
  const court = new Court(bench)
  assert.equal(await court.tried(mutant!, [judge]), undefined)
  assert.match(court.leftOut.join(), /fail without a mutant: fails; too$/)
  // Nor does it if all tests run, because those that call the function need another one.
  const needs = `let ready = false
test('first', () => { ready = true })
test('second', () => { assert(ready); called(1) })
`
  writeFileSync(
    join(bench.folder, 'src/tiny.test.ts'),
    `${text(['fails'])}${needs}`.replace('{ called(1) }', '{}'),
  )
  assert.equal(await new Court(bench).tried(mutant!, [judge]), undefined)
  // A suite that cannot prepare itself fails even if none of its tests are to run.
  const suite = `import { before, describe } from 'node:test'
describe('suite', () => { before(() => { throw new Error() }); test('in it', () => {}) })
`
  writeFileSync(join(bench.folder, 'src/tiny.test.ts'), text([]) + suite)
  const left = new Court(bench)
  assert.equal(await left.tried(mutant!, [judge]), undefined)
  assert.match(left.leftOut.join(), /^Error: The units fail without a mutant: /)
})

test('the page that tests open is made of the copy, in which the mutant is', () => {
  const file = join(bench.folder, 'src/dashboard/assets/overview.js')
  const source = readFileSync(file, 'utf8')
  writeFileSync(file, `${source}\nconsole.log('mutant')\n`)
  execFileSync(process.execPath, ['scripts/assets.js', bench.temporary], { cwd: bench.folder })
  writeFileSync(file, source)
  assert.match(readFileSync(join(bench.temporary, 'overview.js'), 'utf8'), /mutant/)
  bench.clear()
})

test('some tests of a judge run by their names; if they need others, all run', async () => {
  const source = 'export function called(n: number): number {\n  return n + 2\n}\n'
  writeFileSync(join(bench.folder, 'src/tiny.ts'), source)
  const write = (before: string): void =>
    writeFileSync(
      join(bench.folder, 'src/tiny.test.ts'),
      `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { called } from './tiny.js'
let ready = false
test('first', () => { ready = true })
test('(second)', () => { assert(${before}); assert.equal(called(1), 3) })
`,
    )
  const [mutant] = (await mutantsOf('tiny.ts', source)).filter(({ is }) => is.includes('n - 2'))
  for (const before of ['true', 'ready']) {
    write(before)
    const judge = choice('units', '.', ['src/tiny.test.ts'])
    const finding = await new Court(bench).tried(mutant!, [judge])
    assert.equal(finding?.says, '(second)')
    // These alone would find every mutant.
    write('ready')
    const alone = await new Court(bench).known(judge.only!(['(second)']))
    assert.deepEqual(alone, { timeoutMs: 0 })
  }
})

test('every explained survivor is a mutant of the present source, with its reason', async () => {
  const explanations = readExplanations()
  const explained = sources.filter(({ file }) => explanations.some((one) => one.file === file))
  const mutants = await Promise.all(explained.map(({ file, text }) => mutantsOf(file, text)))
  assert.deepEqual(outdated(explanations, mutants.flat()), [])
  assert.deepEqual(
    explanations.filter(({ why }) => why.length < 20),
    [],
  )
})

test('the laws that use a folder judge it, whatever they are called', () => {
  for (const [folder, law] of [
    ['wide-cache', 'orders/ledger'],
    ['wide-cache', 'orders/draining'],
    ['activity', 'orders/retention'],
    ['counters', 'orders/sharded-counter'],
    ['buckets', 'orders/processing'],
    ['buckets', 'orders/collision-free-map'],
    ['buckets', 'orders/export-queue'],
    ['hits', 'readers/recount'],
    ['connections', 'errors/helpers'],
  ] as const) {
    assert(lawsOf(folder).includes(`test/${law}.test.ts`), law)
  }
  assert(!lawsOf('sequence').includes('test/orders/ledger.test.ts'))
})
