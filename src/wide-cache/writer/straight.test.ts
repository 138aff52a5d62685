import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptLog } from '../../support/kept-log.fixture.js'
import { ManualClock } from '../../support/manual-clock.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import { StraightLog } from './straight.js'

function bench() {
  const [clock, log] = [new ManualClock(0), keptLog()]
  return {
    clock,
    log,
    straight: new StraightLog({ clock, logger: new BurstLogger(log, clock.elapsed), name: 'hits' }),
  }
}

const BEGIN = /frames of "hits" go straight to SQL: the cache is down; nothing is lost/

test('the log says once why frames go straight to SQL, and 20 s later how many', async () => {
  const { clock, log, straight } = bench()
  straight.end()
  straight.went('down', 'the cache is down', 2, 30)
  await clock.advance(19_999)
  straight.went('down', 'the cache is down', 1, 4)
  await clock.advance(19_999)
  assert.equal(log.lines.length, 1)
  assert.match(log.lines[0]!, BEGIN)
  await clock.advance(1)
  assert.equal(log.lines.length, 2)
  assert.match(log.lines[1]!, /3 frames with 34 rows went straight/)
  assert.equal(clock.pending, 0)
  straight.end()
  straight.went('down', 'the cache is down', 5, 5)
  straight.end()
  assert.equal(log.lines.length, 4)
  assert.match(log.lines[2]!, BEGIN)
  assert.match(log.lines[3]!, /5 frames with 5 rows went straight/)
  assert.equal(clock.pending, 0, 'no timer is left')
})

test('a new reason is said too', () => {
  const { log, straight } = bench()
  straight.went('down', 'the cache is down', 1, 1)
  straight.went('full', 'the cache is full', 1, 1)
  straight.went('full', 'the cache is full', 1, 1)
  assert.equal(log.lines.length, 2)
  assert.match(log.lines[1]!, /the cache is full/)
})
