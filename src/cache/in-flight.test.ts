import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../support/clock.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import type { CacheError } from './cache.js'
import { NO_OWNER, ServerLink } from './in-flight.js'

const SERVER = { kind: 'memcached', name: 'h:1', timeoutMs: 500, tls: false }

/** A link that is never answered, on a clock that a test moves. */
class Link extends ServerLink {
  readonly failed: string[] = []

  connect(): void {
    this.connected()
  }

  ask(): void {
    this.add(1, ({ code }: CacheError) => this.failed.push(code))
  }

  protected override keepAlive(): void {}
  protected override discard(): void {}
}

function bench(t: TestContext) {
  const clock = new ManualClock(0)
  const world = { stoodStill: 0 }
  t.mock.method(systemClock, 'elapsed', () => clock.elapsed() + world.stoodStill)
  t.mock.method(systemClock, 'after', (ms: number, work: () => void) => clock.after(ms, work))
  return { clock, world, link: new Link(SERVER, NO_OWNER) }
}

test('a request that had to wait for the connection has the whole time behind it', async (t) => {
  const { clock, link } = bench(t)
  link.ask()
  await clock.advance(400)
  link.connect()
  await clock.advance(499)
  assert.deepEqual(link.failed, [])
  await clock.advance(1)
  assert.deepEqual(link.failed, ['CACHE_TIMEOUT'])
  assert.equal(clock.pending, 0)
})

test('a process that stands still again and again gives a request its time twice', async (t) => {
  const { clock, world, link } = bench(t)
  link.connect()
  link.ask()
  const failures: number[] = []
  for (let times = 0; times < 3; times++) {
    world.stoodStill += 300
    await clock.advance(500)
    failures.push(link.failed.length)
  }
  assert.deepEqual(failures, [0, 1, 1])
})
