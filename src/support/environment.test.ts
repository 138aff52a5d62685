import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActivity } from '../activity/site-activity.js'

test('a runtime without eventLoopUtilization collects all the same', async (t) => {
  Object.defineProperty(performance, 'eventLoopUtilization', {
    value: undefined,
    configurable: true,
  })
  t.after(() => Reflect.deleteProperty(performance, 'eventLoopUtilization'))
  assert.equal(performance.eventLoopUtilization, undefined)
  const activity = createActivity({
    cache: 'memory:',
    database: 'sqlite::memory:',
    collect: false,
  })
  activity.record({ page: '/' })
  await activity.flush()
  assert.equal((await activity.drain({ all: true })).committed, 1)
  await activity.close()
})
