import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flushPromises } from '../support/manual-clock.fixture.js'
import type { CounterGeneration, CounterGenerations } from './generations.js'
import { Persisting } from './persisting.js'

const generation = (number: number): CounterGeneration => ({
  number,
  key: `key ${number}`,
  shards: 1,
})

test('values that wait share a statement, each generation one of its own', async () => {
  const persisted: [generation: number, value: number][] = []
  let answer = (): void => undefined
  const generations = {
    async persist({ number }: CounterGeneration, value: number) {
      persisted.push([number, value])
      await new Promise<void>((resolve) => (answer = resolve))
      return true
    },
  }
  const persisting = new Persisting(generations as unknown as CounterGenerations, 'law', 1)
  const [first, second] = [generation(1), generation(2)]
  const kept = Promise.all([
    persisting.keeps(first, 1, 1),
    flushPromises().then(() => persisting.keeps(first, 3, 2)),
    flushPromises().then(() => persisting.keeps(first, 2, 1)),
    flushPromises().then(() => persisting.keeps(second, 4, 1)),
  ])
  for (let i = 0; i < 3; i++) {
    await flushPromises()
    await flushPromises()
    answer()
  }
  assert.deepEqual(await kept, [true, true, true, true])
  assert.deepEqual(persisted, [
    [1, 1],
    [1, 3],
    [2, 4],
  ])
})

test('with a chance of 0.1 each value that passes a multiple of ten is persisted', async () => {
  const persisted: number[] = []
  const generations = {
    async persist(_: CounterGeneration, value: number) {
      return persisted.push(value) > 0
    },
  }
  const persisting = new Persisting(generations as unknown as CounterGenerations, 'law', 0.1)
  let value = 0
  for (const delta of [9, 1, 5, 6, 8, 1, 25, 4]) {
    assert(await persisting.keeps(generation(1), (value += delta), delta))
  }
  assert.deepEqual(persisted, [10, 21, 30, 55])
})
