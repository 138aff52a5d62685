import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from './random.js'
import { type HoldUp, SimulatedProcess } from './simulated-process.js'
import { World } from './world.js'

const HOLD_UP: HoldUp = {
  operation: 'get ',
  after: 0,
  times: 1,
  until: 60_000,
  ms: 1_000,
  stalls: false,
}

/** What happens, and when, in a process with a timer of 500 ms that is answered four times. */
async function answeredFourTimes(holdUp: HoldUp): Promise<string> {
  const world = new World(1, new Random(1), false)
  const process = new SimulatedProcess(world, 1)
  const order: string[] = []
  const happens = (what: string): void => void order.push(`${what} ${world.now}`)
  process.holdUp(holdUp)
  process.environment.clock.after(500, () => happens('timer'))
  for (const operation of ['set a', 'get b', 'get c', 'get d']) {
    process.answer(operation, 2_000, () => happens(operation))
  }
  await world.pass(60_000)
  return order.join(', ')
}

test('an answer that is held up comes late, and the process goes on', async () => {
  assert.equal(await answeredFourTimes(HOLD_UP), 'set a 0, get c 0, get d 0, timer 500, get b 1000')
  assert.equal(
    await answeredFourTimes({ ...HOLD_UP, after: 1, ms: 20_000 }),
    'set a 0, get b 0, get d 0, timer 500, get c 2000',
    'the second of its sort, and no later than a client waits',
  )
})

test('a process that stalls at an answer does nothing before it', async () => {
  assert.equal(
    await answeredFourTimes({ ...HOLD_UP, ms: 20_000, stalls: true }),
    'set a 0, get b 20000, get c 20000, get d 20000, timer 20000',
  )
})

test('hold-ups end after their number, and with their time', async () => {
  assert.equal(
    await answeredFourTimes({ ...HOLD_UP, times: 2 }),
    'set a 0, get d 0, timer 500, get b 1000, get c 1000',
  )
  assert.equal(
    await answeredFourTimes({ ...HOLD_UP, until: 0 }),
    'set a 0, get b 0, get c 0, get d 0, timer 500',
  )
})
