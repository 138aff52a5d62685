import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FaultyCache } from '../../test/simulated-world/faulty-cache.js'
import { memory } from '../cache/memory.js'
import { DAY_MS } from '../support/clock.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { IncomingViews } from './incoming-views.js'
import { UTC_DAYS } from '../support/utc-days.fixture.js'

test('a view that comes while the last responses end is waited for, with its visitor', async () => {
  const clock = new ManualClock(Date.UTC(2026, 4, 17, 12))
  const forwarded: [page: string, hasVisitor: boolean][] = []
  let answer = (_secret: Buffer): void => assert.fail('the secret has not been asked for')
  const views = new IncomingViews<string>({
    calendar: UTC_DAYS,
    cache: new FaultyCache(memory({ now: clock.elapsed }), () => 'none', 'shared'),
    secret: () => new Promise((resolve) => (answer = resolve)),
    name: 'activity',
    clock,
    logger: new BurstLogger(keptLog(), clock.elapsed),
    forward: (_time, visitor, page) => void forwarded.push([page, visitor !== null]),
    got: 'record() got',
    withPrivateCache: 'count apart',
  })
  const ended = views.end()
  views.count('/last', 'anna', 'browser')
  // The turns of the event loop in which connections that were cut say so.
  await clock.advance(0)
  await clock.advance(0)
  assert.deepEqual(forwarded, [])
  answer(Buffer.alloc(32, 's'))
  await clock.advance(0)
  await ended
  assert.deepEqual(forwarded.splice(0), [['/last', true]])
  // The salt is gone by now, and is not asked for again.
  views.count('/later', 'anna', 'browser')
  await clock.advance(DAY_MS)
  assert.deepEqual([forwarded, clock.pending], [[['/later', false]], 0])
})
