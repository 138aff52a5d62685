import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wrapped } from '../../test/servers/wrapped.js'
import type { Cache } from '../cache/cache.js'
import { memory } from '../cache/memory.js'
import { testCache } from './cache.js'

test('the suite asks an adapter whether it may go back to an earlier state', async () => {
  const bodies = new Map<string, () => unknown>()
  const undeclared = { neverGoesBack: undefined } as unknown as Partial<Cache>
  testCache({
    test: (name, body) => bodies.set(name, body),
    create: () => wrapped(memory(), undeclared),
  })
  await assert.rejects(
    async () => bodies.get('cache: it says whether it may go back to an earlier state')?.(),
    { name: 'AssertionError', message: 'neverGoesBack is undefined' },
  )
})
