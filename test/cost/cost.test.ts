/**
 * What processes ask of cache and SQL stays within its budget, in health and in trouble. A result
 * can be right and cost ten times too much.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { PlainProcess } from '../simulated-world/plain-process.js'
import { compare, PAGE, readBudget, render } from './budget.js'
import { type Budget, CLASSES, COLUMNS } from './situations.js'

const plain = new PlainProcess()
after(() => plain.end())

const budget = readBudget()
let measured: Promise<Budget> | undefined
const differences = async (): Promise<ReturnType<typeof compare>> => {
  measured ??= plain.call<Budget>(new URL('situations.ts', import.meta.url), 'measuredAll')
  return compare(await measured, budget)
}

test('no process asks more than its budget', async () => {
  assert.deepEqual((await differences()).more, [])
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
