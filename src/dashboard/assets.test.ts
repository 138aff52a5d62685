import assert from 'node:assert/strict'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { test } from 'node:test'
import { servedAssets } from './assets.js'

test('a file that has changed gives all files other addresses, so no browser keeps it', (t) => {
  const before = [...servedAssets().keys()]
  const { readFileSync } = fs
  for (const ending of ['css', 'js', 'svg']) {
    const changed = before.find((path) => path.endsWith(`.${ending}`))!.replace(/^.*\//, '')
    const mock = t.mock.method(fs, 'readFileSync', (path: URL, encoding: 'utf8') => {
      const text = readFileSync(path, encoding)
      return path.pathname.endsWith(`/${changed}`) ? `${text}\n` : text
    })
    syncBuiltinESMExports()
    const after = [...servedAssets().keys()]
    mock.mock.restore()
    syncBuiltinESMExports()
    assert.equal(after.length, before.length)
    assert.deepEqual(
      after.filter((path) => before.includes(path)),
      [],
      changed,
    )
  }
  assert.deepEqual([...servedAssets().keys()], before)
})

test('each file has the type of its ending, since browsers take no other', () => {
  const types = new Map<string, Set<string>>()
  for (const [path, { type }] of servedAssets()) {
    const ending = path.slice(path.lastIndexOf('.') + 1)
    types.set(ending, (types.get(ending) ?? new Set()).add(type))
  }
  assert.deepEqual(
    types,
    new Map([
      ['css', new Set(['text/css; charset=utf-8'])],
      ['js', new Set(['text/javascript; charset=utf-8'])],
      ['svg', new Set(['image/svg+xml'])],
    ]),
  )
})
