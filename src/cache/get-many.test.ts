import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CacheError, type CacheErrorCode } from './cache.js'
import { getMany } from './get-many.js'

/** Asks for 100 keys, the first of which fails by `code`. Returns the number that was asked for. */
async function asked(code: CacheErrorCode, onUnanswered?: () => void): Promise<number> {
  let count = 0
  const get = async (): Promise<undefined> => {
    if (count++ === 0) throw new CacheError(code, 'test')
  }
  const keys = Array.from({ length: 100 }, (_, n) => `key ${n}`)
  await getMany([{ keys, get }], onUnanswered).catch((error: CacheError) => {
    assert.equal(error.code, code)
  })
  // What goes on asks within these turns.
  for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve))
  return count
}

test('after a failure that nobody takes, no more keys are asked for', async () => {
  const noted = (): void => undefined
  assert.deepEqual(
    [await asked('CACHE_TIMEOUT'), await asked('CACHE_CLOSED', noted)],
    [16, 16],
    'one for each request that may be in flight',
  )
  assert.equal(await asked('CACHE_TIMEOUT', noted), 100)
})
