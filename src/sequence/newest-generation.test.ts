import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep } from '../support/clock.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { CURRENT_MS } from './current-generation.js'
import type { Generation, GenerationRecord } from './generation-record.js'
import { NewestGeneration } from './newest-generation.js'

const SLOW_MS = 100

/** A generation whose row answers after {@link SLOW_MS} what `answers` has. */
function slow(answers: { newest: Generation; isNewest: boolean }) {
  const clock = new ManualClock(0)
  const newest = async (): Promise<Generation> => {
    await sleep(clock, SLOW_MS)
    return answers.newest
  }
  const isNewest = async (): Promise<boolean> => {
    await sleep(clock, SLOW_MS)
    return answers.isNewest
  }
  const record = { read: newest, open: newest, establish: isNewest, raise: isNewest }
  return { clock, generation: new NewestGeneration(record as unknown as GenerationRecord, clock) }
}

/** Runs `work` while its slow answer comes. */
async function answered<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  await clock.advance(SLOW_MS)
  return work
}

const FIRST = { generation: 1, token: null, base: 0, reserved: 0, established: true }

test('a current generation counts from the moment at which SQL was asked', async () => {
  const answers = { newest: FIRST, isNewest: true }
  const { clock, generation } = slow(answers)
  const began = clock.elapsed()
  const current = await answered(clock, generation.read())
  assert.equal(current.until, began + CURRENT_MS)
  const questions: (() => Promise<unknown>)[] = [
    () => generation.read(),
    () => generation.establish(current),
    () => generation.reserve(current, 10),
    () => generation.open(current, null),
  ]
  for (const ask of questions) {
    const askedAt = clock.elapsed()
    await answered(clock, ask())
    assert.equal(generation.current!.until, askedAt + CURRENT_MS)
  }
  const askedAt = clock.elapsed()
  answers.newest = { ...FIRST, generation: 2 }
  await answered(clock, generation.open(current, null))
  assert.equal(generation.current!.until, askedAt + CURRENT_MS)
})

test('a generation that is over is neither established nor acted on', async () => {
  const answers = { newest: { ...FIRST, established: false }, isNewest: false }
  const { clock, generation } = slow(answers)
  const began = clock.elapsed()
  const current = await answered(clock, generation.read())
  assert.equal(await answered(clock, generation.establish(current)), false)
  assert.equal(current.established, false)
  assert.equal(await answered(clock, generation.reserve(current, 10)), false)
  assert(clock.elapsed() < began + CURRENT_MS)
  assert(current.until < clock.elapsed())
  assert.equal(current.reserved, 0)
})

test('each counter that was lost within ten seconds counts, up to three', async () => {
  const answers = { newest: { ...FIRST, token: Buffer.alloc(16) }, isNewest: true }
  const { clock, generation } = slow(answers)
  const losses: number[] = []
  for (const more of [0, 1, 1, 5]) {
    answers.newest = { ...answers.newest, generation: answers.newest.generation + more }
    await answered(clock, generation.read())
    losses.push(generation.recentLosses())
  }
  await clock.advance(10_000)
  assert.deepEqual([...losses, generation.recentLosses()], [0, 1, 2, 3, 0])
})
