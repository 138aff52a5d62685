/** `docs/options.md` has every option of every class, as the checks of the code have it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageOf } from './markdown.js'
import { cellsOf, render, TABLES } from './options.js'

const { text } = pageOf('docs/options.md')

test('the page has the options that the code checks: npm run options', () => {
  assert.equal(render(text), text)
})

test('the page has each table, and a table has all of its options', () => {
  assert(TABLES.size === 11)
  for (const [title, { names }] of TABLES) {
    assert(text.includes(`<!-- options: ${title} -->`), title)
    assert(names.length > 1, title)
  }
})

test('each option has a default, what is allowed, and a meaning', () => {
  const tables = text.match(/<!-- options: [^]*?<!-- \/options -->/g)?.join('\n') ?? ''
  const rows = tables.split('\n').filter((line) => line.startsWith('| `'))
  assert(rows.length > 40)
  for (const row of rows) {
    const cells = cellsOf(row)
    assert(cells.length === 4 && cells.every((cell) => cell !== ''), row)
  }
})

test('a difference would be seen', () => {
  const start = text.indexOf('<!-- options: grid -->')
  for (const [is, planted] of [
    ['| 15 |', '| 16 |'],
    ['1 to 3,600', '1 to 3,601'],
    ['| `flushMs` |', '| `flushMilliseconds` |'],
    ['3,600 seconds', '3,600 milliseconds'],
  ] as const) {
    const at = text.indexOf(is, start)
    assert(at > start, is)
    const wrong = text.slice(0, at) + planted + text.slice(at + is.length)
    assert.notEqual(render(wrong), wrong)
  }
})

test('a table that does not exist would be seen', () => {
  assert.throws(() => render('<!-- options: createHit -->\n<!-- /options -->'), /createHit/)
  assert.throws(() => render('<!-- options: createHits -->'), /createHits/)
})
