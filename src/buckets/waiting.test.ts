import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transaction } from '../database/database.js'
import { flushPromises } from '../support/manual-clock.fixture.js'
import { Waiting } from './waiting.js'

/** A transaction, and its commit, which calls hooks one after the other. */
function transaction() {
  const hooks: (() => Promise<void>)[] = []
  const tx = {
    beforeCommit: (hook: () => Promise<void>) => void hooks.push(hook),
  } as unknown as Transaction
  const commit = async (): Promise<void> => {
    for (const hook of hooks) await hook()
  }
  return { tx, commit }
}

test('rows added while others are inserted are inserted after them', async () => {
  const inserted: number[][] = []
  let insert = (): void => undefined
  const waiting = new Waiting<number>(async (_, rows) => {
    inserted.push([...rows])
    await new Promise<void>((resolve) => (insert = resolve))
  })
  const { tx, commit } = transaction()
  waiting.add(tx, [1])
  waiting.add(tx, [2])
  assert.deepEqual(waiting.of(tx), [1, 2])
  const committed = commit()
  await flushPromises()
  // They are in the table now, where those who read see them.
  assert.deepEqual(waiting.of(tx), [])
  waiting.add(tx, [3])
  assert.deepEqual(waiting.of(tx), [3])
  insert()
  await flushPromises()
  insert()
  await committed
  assert.deepEqual(inserted, [[1, 2], [3]])
})

test('transactions know nothing of the rows of others', async () => {
  const waiting = new Waiting<number>(async () => undefined)
  const [one, other] = [transaction(), transaction()]
  waiting.add(one.tx, [1])
  assert.deepEqual(waiting.of(other.tx), [])
})
