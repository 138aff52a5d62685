import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Gather, MAX_WAITING } from './gather.js'

const all = (items: readonly number[]): number => items.length

test('callers that come during work share the next, and each gets its own result', async () => {
  const runs: number[][] = []
  const gather = new Gather(
    'increments',
    async (items: readonly number[]) => runs.push([...items]),
    all,
  )
  const first = [gather.add(1), gather.add(2)]
  await new Promise((resolve) => process.nextTick(resolve))
  const second = [gather.add(3), gather.add(4)]
  assert.deepEqual(await Promise.all([...first, ...second]), [1, 1, 2, 2])
  assert.deepEqual(runs, [
    [1, 2],
    [3, 4],
  ])
  assert.equal(await gather.add(5), 3)
})

test('as many share as fit', async () => {
  const runs: number[][] = []
  const gather = new Gather(
    'increments',
    async (items: readonly number[]) => void runs.push([...items]),
    () => 2,
  )
  await Promise.all([1, 2, 3, 4, 5].map((item) => gather.add(item)))
  assert.deepEqual(runs, [[1, 2], [3, 4], [5]])
})

test("a RangeError makes each caller's work run alone, and refuses only what fails", async () => {
  const runs: number[][] = []
  let underWay = 0
  const gather = new Gather(
    'increments',
    async (items: readonly number[]) => {
      runs.push([...items])
      assert.equal(++underWay, 1, 'one call at a time')
      await new Promise(setImmediate)
      underWay--
      if (items.includes(2)) throw new RangeError('2')
    },
    all,
  )
  const results = await Promise.allSettled([1, 2, 3].map((item) => gather.add(item)))
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(runs, [[1, 2, 3], [1], [2], [3]])
})

test('any other error rejects all callers of the shared work, and no later ones', async () => {
  let broken = true
  const gather = new Gather(
    'increments',
    async (items: readonly number[]) => {
      if (broken) throw new Error('broken')
      return items.length
    },
    all,
  )
  const results = await Promise.allSettled([1, 2].map((item) => gather.add(item)))
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  broken = false
  assert.equal(await gather.add(1), 1)
})

test('what waits is bounded', async () => {
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const gather = new Gather('increments', () => held, all)
  const first = gather.add(0)
  await new Promise(setImmediate)
  const waiting = Array.from({ length: MAX_WAITING }, (_, i) => gather.add(i))
  await assert.rejects(gather.add(0), {
    code: 'DATABASE_QUEUE_FULL',
    category: 'capacity',
    message: /100000 increments are waiting/,
  })
  release()
  await Promise.all([first, ...waiting])
  await gather.add(0)
})

test('callers that call again on being answered begin no call beside another one', async () => {
  const runs: number[][] = []
  const answers: (() => void)[] = []
  const gather = new Gather(
    'increments',
    async (items: readonly number[]) => {
      runs.push([...items])
      await new Promise<void>((resolve) => answers.push(resolve))
    },
    all,
  )
  const turn = (): Promise<void> => new Promise(setImmediate)
  const again = gather.add(1).then(() => gather.add(3))
  await turn()
  const second = gather.add(2)
  answers[0]!()
  await turn()
  // It comes while the second call is under way.
  const third = gather.add(4)
  await turn()
  assert.deepEqual(runs, [[1], [2, 3]])
  answers[1]!()
  await turn()
  answers[2]!()
  await Promise.all([again, second, third])
  assert.deepEqual(runs, [[1], [2, 3], [4]])
})
