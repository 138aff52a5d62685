import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closedError, cutOffError } from '../database/closed.js'
import { type DatabaseErrorCategory, DatabaseError } from '../database/database.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { flushPromises, ManualClock } from '../support/manual-clock.fixture.js'
import { mayBeDone, retried } from './retry.js'

/** Longest wait for an answer. */
const ANSWER_MS = 10_000

/**
 * An environment whose time advances as soon as there is nothing else to do. It records the waits
 * between tries.
 */
function waiting(): Environment & { readonly waits: number[] } {
  const waits: number[] = []
  let elapsed = 0
  const timers = new Set<{ readonly at: number; readonly callback: () => void }>()
  const pass = (): void => {
    const [next] = [...timers].sort((a, b) => a.at - b.at)
    if (!next) return
    timers.delete(next)
    elapsed = next.at
    next.callback()
  }
  return {
    ...systemEnvironment,
    waits,
    random: () => 0.5,
    clock: {
      now: () => elapsed,
      elapsed: () => elapsed,
      after(ms, callback) {
        if (ms !== ANSWER_MS) waits.push(ms)
        const timer = { at: elapsed + ms, callback }
        timers.add(timer)
        setImmediate(pass)
        return { cancel: () => void timers.delete(timer) }
      },
    },
  }
}

const connected = async () => assert.fail('nobody has to connect who was not refused')
const failing = (category: DatabaseErrorCategory, message = category as string) =>
  new DatabaseError('TEST', category, message)

test('a passing failure is retried for 10 s, with waits from 50 ms to 1 s', async () => {
  for (const category of ['unreachable', 'lock', 'capacity'] as const) {
    const world = waiting()
    let tries = 0
    await assert.rejects(
      retried(world, connected, () => Promise.reject(failing(category, `try ${++tries}`))),
      category === 'unreachable' ? /^DatabaseError: try 1$/ : /^DatabaseError: try 14$/,
    )
    assert.deepEqual(world.waits, [50, 100, 200, 400, 800, ...Array<number>(9).fill(1_000)])
  }
  const world = waiting()
  let tries = 0
  assert.equal(
    await retried(world, connected, async () => {
      if (++tries < 4) throw failing('lock')
      return tries
    }),
    4,
  )
  assert.equal(world.waits.length, 3)
})

test('work that has succeeded or failed leaves no timer', async () => {
  const clock = new ManualClock(0)
  const environment = { ...systemEnvironment, clock }
  assert.equal(await retried(environment, connected, async () => 7), 7)
  await assert.rejects(retried(environment, connected, () => Promise.reject(failing('data'))))
  assert.equal(clock.pending, 0)
})

test('waits differ by chance, from half to one and a half', async () => {
  for (const [random, first] of [
    [0, 25],
    [1, 75],
  ] as const) {
    const world = { ...waiting(), random: () => random }
    await assert.rejects(retried(world, connected, () => Promise.reject(failing('lock'))))
    assert.equal(world.waits[0], first)
  }
})

test('any other failure is passed on at once, as unknown if an earlier try may count', async () => {
  for (const error of [failing('data'), failing('usage'), new RangeError('past 2^53-1')]) {
    const world = waiting()
    await assert.rejects(
      retried(world, connected, () => Promise.reject(error)),
      error,
    )
    assert.deepEqual(world.waits, [])
    const lost = failing('unreachable')
    const answers = [lost, failing('lock'), error]
    await assert.rejects(
      retried(world, connected, () => Promise.reject(answers.shift()!)),
      lost,
    )
    assert.equal(world.waits.length, 2)
  }
})

test('without a connection nothing is sent, and the outcome is known at the timeout', async () => {
  const unsent = () =>
    new DatabaseError('ETIMEDOUT', 'unreachable', 'no connection', { unsent: true })
  const begun: string[] = []
  const all = (connect: () => Promise<unknown>, ...answers: unknown[]) =>
    retried(
      waiting(),
      async () => {
        begun.push('connect')
        return connect()
      },
      async () => {
        begun.push('work')
        const answer = answers.shift()
        if (answer instanceof Error) throw answer
        return answer
      },
    )
  // Connecting takes longer than is waited for.
  await assert.rejects(
    all(() => new Promise(() => undefined), unsent()),
    { name: 'DatabaseError', message: 'no connection' },
  )
  assert.deepEqual(begun.splice(0), ['work', 'connect'])
  // It fails, in whatever way: nothing of it counts.
  const failures = [unsent(), failing('unreachable'), failing('capacity')]
  await assert.rejects(
    all(() => Promise.reject(failures[0]!), unsent()),
    { message: 'no connection' },
  )
  await assert.rejects(
    all(() => Promise.reject(failures[1]!), unsent()),
    { message: 'no connection' },
  )
  assert(!begun.slice(1, 14).includes('work'))
  begun.length = 0
  const refusal = failing('usage')
  await assert.rejects(
    all(() => Promise.reject(refusal), unsent()),
    refusal,
  )
  assert.deepEqual(begun.splice(0), ['work', 'connect'])
  // It succeeds, and the work is done; or remains without an answer.
  assert.equal(await all(async () => undefined, unsent(), 7), 7)
  assert.deepEqual(begun.splice(0), ['work', 'connect', 'work'])
  const lost = failing('unreachable')
  await assert.rejects(
    all(async () => undefined, unsent(), lost, unsent(), failing('usage')),
    lost,
  )
})

test('a connection that comes when the time is over is not used', async () => {
  const world = waiting()
  let connect: (() => void) | undefined
  let works = 0
  const refused = new DatabaseError('ECONNREFUSED', 'unreachable', 'refused')
  await assert.rejects(
    retried(
      world,
      () =>
        new Promise<void>((resolve) => {
          connect = resolve
        }),
      () => {
        works++
        return Promise.reject(refused)
      },
    ),
    refused,
  )
  connect!()
  await flushPromises()
  assert.equal(works, 1)
})

test('an outcome is unknown only if a statement was sent and its answer is missing', () => {
  const of = (code: string, category: DatabaseErrorCategory = 'unreachable') =>
    mayBeDone(new DatabaseError(code, category, 'failed'))
  // What other databases say when they have not connected.
  for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ER_HOST_IS_BLOCKED']) {
    assert.equal(of(code), false, code)
  }
  for (const code of ['ECONNRESET', 'ETIMEDOUT']) assert.equal(of(code), true, code)
  for (const category of ['lock', 'data', 'capacity', 'usage'] as const) {
    assert.equal(of('TEST', category), false, category)
  }
  assert.deepEqual([mayBeDone(closedError()), mayBeDone(cutOffError())], [false, true])
  assert.equal(mayBeDone(new Error('of the caller')), false)
})
