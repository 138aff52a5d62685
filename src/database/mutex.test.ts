import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flushPromises } from '../support/manual-clock.fixture.js'
import { Mutex, QUEUE_LIMIT, WAIT_TIMEOUT_MS } from './mutex.js'

/** A mutex, and a way to run work in it that says what happens and ends when it is told. */
function bench() {
  const mutex = new Mutex()
  const events: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  const run = (name: string): Promise<void> =>
    mutex.run(async () => {
      events.push(`${name} begins`)
      await new Promise<void>((resolve, reject) =>
        ends.set(name, (error) => (error ? reject(error) : resolve())),
      )
      events.push(`${name} ends`)
    })
  const end = async (name: string, error?: Error): Promise<void> => {
    ends.get(name)!(error)
    await flushPromises()
  }
  return { mutex, events, run, end }
}

test('each has it alone, in the order of asking, also after one that fails', async () => {
  const { events, run, end } = bench()
  const first = assert.rejects(run('a'), /broken/)
  const others = [run('b'), run('c')]
  await flushPromises()
  assert.deepEqual(events, ['a begins'])
  await end('a', new Error('broken'))
  // Comes while another one has it, and behind all that wait.
  others.push(run('d'))
  for (const name of ['b', 'c', 'd']) await end(name)
  await Promise.all([first, ...others])
  assert.deepEqual(events, [
    'a begins',
    ...['b', 'c', 'd'].flatMap((name) => [`${name} begins`, `${name} ends`]),
  ])
  const last = run('e')
  await flushPromises()
  await end('e')
  await last
})

test('who has waited too long never gets it, and the next one does', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const { events, run, end } = bench()
  const first = run('a')
  const late = assert.rejects(run('b'), { code: 'DATABASE_QUEUE_FULL', category: 'capacity' })
  context.mock.timers.tick(WAIT_TIMEOUT_MS - 1)
  const patient = run('c')
  context.mock.timers.tick(1)
  await late
  await end('a')
  await end('c')
  await Promise.all([first, patient])
  assert.deepEqual(events, ['a begins', 'a ends', 'c begins', 'c ends'])
})

test(`no more than ${QUEUE_LIMIT} wait; the others are refused, and may come later`, async () => {
  const { mutex, run, end } = bench()
  const first = run('a')
  let done = 0
  const waiting = Array.from({ length: QUEUE_LIMIT }, () => mutex.run(async () => void done++))
  await assert.rejects(
    mutex.run(async () => void done++),
    { code: 'DATABASE_QUEUE_FULL' },
  )
  await end('a')
  await Promise.all([first, ...waiting])
  assert.equal(done, QUEUE_LIMIT)
  await mutex.run(async () => void done++)
  assert.equal(done, QUEUE_LIMIT + 1)
})
