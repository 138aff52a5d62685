import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import { ACQUIRE_TIMEOUT_MS } from './limits.js'
import { WaitingCallers } from './waiting.js'

const FULL = { code: 'DATABASE_QUEUE_FULL', category: 'capacity' }

/** A caller, the connection that it waits for, and what comes of both. */
function world(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const callers = new WaitingCallers()
  const came: string[] = []
  const pools = { give: (_: string): void => undefined, refuse: (_: Error): void => undefined }
  const ask = () =>
    new Promise<string>((resolve, reject) =>
      Object.assign(pools, { give: resolve, refuse: reject }),
    )
  callers
    .connection(ask, (late) => came.push(`ended ${late}`))
    .then(
      (connection) => came.push(connection),
      (error: unknown) =>
        came.push(error instanceof Error && 'code' in error ? 'full' : String(error)),
    )
  return { callers, came, pools }
}

test('a connection that comes after its caller has left is ended, and no other is', async (t) => {
  const { callers, came, pools } = world(t)
  t.mock.timers.tick(ACQUIRE_TIMEOUT_MS - 1)
  await turn()
  assert.deepEqual(came, [])
  t.mock.timers.tick(1)
  await turn()
  assert.deepEqual(came, ['full'])
  pools.give('one')
  await turn()
  assert.deepEqual(came, ['full', 'ended one'])
  callers.fail('closed')
  await turn()
  assert.equal(came.length, 2)
})

test('a caller is answered once, by its connection, its failure or that of all', async (t) => {
  for (const [first, wanted] of [
    ['give', ['one']],
    ['refuse', ['Error: refused']],
    ['fail', ['closed', 'ended one']],
  ] as const) {
    const { callers, came, pools } = world(t)
    if (first === 'give') pools.give('one')
    if (first === 'refuse') pools.refuse(new Error('refused'))
    if (first === 'fail') callers.fail('closed')
    await turn()
    callers.fail('closed')
    pools.give('one')
    t.mock.timers.tick(2 * ACQUIRE_TIMEOUT_MS)
    await turn()
    assert.deepEqual(came, wanted, first)
    t.mock.timers.reset()
  }
})

test('callers of whom none has come in time are refused as too many', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const waiting = new WaitingCallers().connection(
    () => new Promise<never>(() => undefined),
    () => undefined,
  )
  t.mock.timers.tick(ACQUIRE_TIMEOUT_MS)
  await assert.rejects(waiting, FULL)
})

test('a caller that has been answered leaves no timer, which would keep the process', async () => {
  const timers = () =>
    process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
  const before = timers()
  const callers = new WaitingCallers()
  const end = (): void => undefined
  await callers.connection(async () => 'one', end)
  await assert.rejects(callers.connection(() => Promise.reject(new Error('refused')), end))
  const failed = assert.rejects(
    callers.connection(() => new Promise<never>(end), end),
    /closed/,
  )
  assert.equal(timers(), before + 1)
  callers.fail(new Error('closed'))
  await failed
  assert.equal(timers(), before)
})
