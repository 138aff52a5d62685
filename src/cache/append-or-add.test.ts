import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appendOrAdd, type WayToStore } from './append-or-add.js'
import { memory } from './memory.js'

const [A, B] = [Buffer.from('a'), Buffer.from('b')]
const WAYS: readonly [first: WayToStore, second: WayToStore][] = [
  ['append', 'add'],
  ['add', 'append'],
]

for (const [first, second] of WAYS) {
  test(`${first} first: a value is stored where there is none, else appended`, async () => {
    const cache = memory()
    assert.equal(await appendOrAdd(cache, 'key', A, 60, first), 'add')
    assert.equal(await appendOrAdd(cache, 'key', B, 60, first), 'append')
    assert.equal(String(await cache.get('key')), 'ab')
  })

  test(`${first} first: what the cache does not store is told, after three questions`, async () => {
    const asked: string[] = []
    const refuses = (what: string) => () => {
      asked.push(what)
      return Promise.resolve(false)
    }
    const cache = { append: refuses('append'), add: refuses('add') }
    assert.equal(await appendOrAdd(cache, 'key', A, 60, first), undefined)
    assert.deepEqual(asked, [first, second, first])
  })

  test(`${first} first: what another process does between the questions is no matter`, async () => {
    const cache = memory()
    if (first === 'add') await cache.set('key', B, 60)
    const meanwhile = () => (first === 'add' ? cache.delete('key') : cache.add('key', B, 60))
    let asked = 0
    const later = async () => void (asked++ === 1 && (await meanwhile()))
    const way = await appendOrAdd(
      {
        append: async (key, value) => later().then(() => cache.append(key, value)),
        add: async (key, value, ttl) => later().then(() => cache.add(key, value, ttl)),
      },
      'key',
      A,
      60,
      first,
    )
    assert.equal(way, first)
    assert.equal(String(await cache.get('key')), first === 'add' ? 'a' : 'ba')
  })
}
