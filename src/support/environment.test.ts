import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActivity } from '../activity/site-activity.js'
import { systemEnvironment } from './environment.js'

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

test('work of the end runs as long as it is not taken back, with one listener for all', () => {
  const before = process.listeners('beforeExit')
  const runs: string[] = []
  const takeBack = ['first', 'second'].map((name) =>
    systemEnvironment.beforeEnd!(() => void runs.push(name)),
  )
  const mine = process.listeners('beforeExit').filter((listener) => !before.includes(listener))
  assert.equal(mine.length, 1)
  for (const back of takeBack) {
    mine[0]!.call(process, 0)
    back()
  }
  assert.deepEqual(runs, ['first', 'second', 'second'])
  assert.deepEqual(process.listeners('beforeExit'), before)
})
