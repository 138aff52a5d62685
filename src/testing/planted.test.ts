/** Each test of the suites sees a planted fault, so none of them asserts nothing. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { testCache } from './cache.js'
import { testDatabase } from './database.js'

test('each test of a suite has a fault that it sees', () => {
  const sentences: string[] = []
  const register = (name: string): void => void sentences.push(name.replace('suite: ', ''))
  testCache({
    test: register,
    name: 'suite',
    create: () => memory(),
    capabilities: { itemLimitBytes: 1, createSilent: () => memory() },
  })
  testDatabase({
    test: register,
    name: 'suite',
    create: async () => () => sqlite(':memory:'),
    capabilities: { createUnreachable: () => sqlite(':memory:') },
  })
  const folder = new URL('./', import.meta.url)
  const planted = readdirSync(folder)
    .filter((file) => /^planted-.*\.test\./.test(file))
    .map((file) => readFileSync(new URL(file, folder), 'utf8'))
    .join('')
  assert(sentences.length > 50)
  assert.deepEqual(
    sentences.filter((sentence) => !planted.includes(sentence.replace(/, in a transaction$/, ''))),
    [],
  )
})
