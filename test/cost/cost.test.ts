/**
 * What processes ask of cache and SQL stays within its budget, in health and in trouble. A result
 * can be right and cost ten times too much.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { PlainProcess } from '../simulated-world/plain-process.js'
import { compare, PAGE, readBudget, render, sumsOf } from './budget.js'
import { type Budget, CLASSES, COLUMNS, PROCESSES } from './situations.js'

const plain = new PlainProcess()
after(() => plain.end())

const budget = readBudget()
let measured: Promise<Budget> | undefined
const all = (): Promise<Budget> =>
  (measured ??= plain.call<Budget>(new URL('situations.ts', import.meta.url), 'measuredAll'))
const differences = async (): Promise<ReturnType<typeof compare>> => compare(await all(), budget)

test('no process asks more than its budget', async () => {
  assert.deepEqual((await differences()).more, [])
})

test('a quiet process asks little, whatever its budget says', async () => {
  const most = { collects: { cache: 150, sql: 50 }, other: { cache: 20, sql: 10 } }
  for (const used of ['createActivity()', 'createHits()', 'new WideCache()']) {
    for (const process of PROCESSES) {
      const { cache, sql } = sumsOf((await all())[used]!['quiet']![process]!)
      assert(
        cache <= most[process].cache && sql <= most[process].sql,
        `${process}: ${cache}, ${sql}`,
      )
    }
  }
})

test('no budget is higher than what is asked: npm run cost lowers it', async () => {
  assert.deepEqual((await differences()).less, [])
})

test('the docs have the table of the budget: npm run cost', () => {
  const text = readFileSync(PAGE, 'utf8')
  assert.equal(render(text, budget), text)
  for (const used of CLASSES) assert(text.includes(`| \`${used}\``), used)
})

test('more requests of a kind in each situation would be seen, and a wrong figure', () => {
  for (const used of CLASSES) {
    for (const situation of COLUMNS) {
      const wrong = structuredClone(budget)
      const counts = wrong[used]![situation]!['collects']!
      for (const kind of ['get', 'SELECT', ...Object.keys(counts)]) {
        const was = counts[kind] ?? 0
        counts[kind] = Math.ceil(was * 1.3) + 201
        assert.match(String(compare(wrong, budget).more), new RegExp(`${situation}.*: ${kind} `))
        counts[kind] = was
      }
    }
  }
  const text = readFileSync(PAGE, 'utf8')
  const planted = text.replace(/(\| `createHits\(\)`: collects \| )\d+/, '$17')
  assert.notEqual(planted, text)
  assert.notEqual(render(planted, budget), planted)
})
