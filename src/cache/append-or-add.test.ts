import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appendOrAdd } from './append-or-add.js'
import { memory } from './memory.js'

const [A, B] = [Buffer.from('a'), Buffer.from('b')]

test('a value is stored where there is none, and is appended to where there is one', async () => {
  const cache = memory()
  assert.equal(await appendOrAdd(cache, 'key', A, 60), true)
  assert.equal(await appendOrAdd(cache, 'key', B, 60), true)
  assert.equal(String(await cache.get('key')), 'ab')
})

test('a value that another process stores between the questions is appended to', async () => {
  const cache = memory()
  const add: typeof cache.add = async (key, value, ttlSeconds) => {
    await cache.add(key, B, ttlSeconds)
    return cache.add(key, value, ttlSeconds)
  }
  const append: typeof cache.append = (key, value) => cache.append(key, value)
  assert.equal(await appendOrAdd({ append, add }, 'key', A, 60), true)
  assert.equal(String(await cache.get('key')), 'ba')
})

test('what the cache does not store is told, and nothing is asked a fourth time', async () => {
  const asked: string[] = []
  const refuses = (what: string) => () => {
    asked.push(what)
    return Promise.resolve(false)
  }
  const cache = { append: refuses('append'), add: refuses('add') }
  assert.equal(await appendOrAdd(cache, 'key', A, 60), false)
  assert.deepEqual(asked, ['append', 'add', 'append'])
})
