/** The rule of what a look must count excuses what the docs excuse, and nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WriterLife } from './account.js'
import { type Disturbance, Disturbances } from './disturbances.js'
import { dueRows } from './due.js'
import { type FaultType, TYPES } from './plan.js'

/** When the one row of the life is recorded. */
const AT = 1_000_000

function life(more: Partial<WriterLife> = {}): WriterLife {
  return {
    name: 'a-1',
    reports: [],
    times: [0, AT],
    steps: Array.from({ length: 2_000 }, (_, second) => second * 1000),
    figuresPassedAt: (moment) => moment + 6_000,
    poison: new Set(),
    afterClose: Infinity,
    closed: undefined,
    exact: true,
    killedAt: 0,
    hasPrivateCache: false,
    reliesOn: ['a', 'MariaDB'],
    ...more,
  }
}

function fault(type: FaultType, target: string, from: number, to = from): Disturbance {
  return { type, target, disturbs: TYPES[type].disturbs, from, to }
}

/** Milliseconds after which the row must be counted; `undefined`: it need not be. */
function dueAfter(faults: Disturbance[], writer = life()): number | undefined {
  const due = dueRows([writer], new Disturbances(faults)).find(({ at }) => at === AT)
  return due && due.from - AT
}

const flush = fault('flush a cache', 'memcached 1', AT + 5_000)

test('what nothing disturbs, or SQL alone, is counted at every look', () => {
  assert.equal(dueAfter([]), 0)
  assert.equal(dueAfter([fault('kill MariaDB', 'MariaDB', AT - 1_000, AT + 9_000)]), 0)
  assert.equal(dueAfter([fault('end process', 'a', AT)]), 0)
  assert.equal(dueAfter([fault('stop process', 'b', AT, AT + 9_000)]), 0, 'another process')
  assert.equal(dueAfter([fault('flush a cache', 'memcached 1', AT - 11_000)]), 0, 'long ago')
})

test('its writer has 20 steps for what the cache lost, and more if SQL is away from it', () => {
  assert.equal(dueAfter([flush]), 20_000)
  const slow = Array.from({ length: 1_000 }, (_, step) => step * 3_000)
  assert.equal(dueAfter([flush], life({ steps: slow })), 59_000, 'on a busy machine')
  assert.equal(dueAfter([flush], life({ steps: slow.slice(0, 340) })), undefined, 'it ended')
  const away = (type: FaultType, target: string): Disturbance =>
    fault(type, target, AT + 15_000, AT + 19_000)
  assert.equal(dueAfter([flush, away('stop MariaDB', 'MariaDB')]), 39_000)
  assert.equal(dueAfter([flush, away('stop MariaDB', 'MariaDB from b')]), 20_000, "another's way")
})

test('what is recorded while the clock of its database is wrong has the wrong time', () => {
  const step = fault('step a host', 'the host', AT - 9_000, AT - 8_000)
  assert.equal(dueAfter([step], life({ reliesOn: ['a', 'the host'] })), undefined)
  assert.equal(dueAfter([step]), 0, "another database's")
})

test('of a process that stood still, and of one that begins without SQL, rows come later', () => {
  assert.equal(dueAfter([fault('stop process', 'a', AT + 1, AT + 9_000)]), 29_000)
  const steps = Array.from({ length: 60 }, (_, second) => AT + second * 1000)
  const begins = life({ times: [AT - 1_000, AT], steps })
  assert.equal(dueAfter([], begins), 20_000)
  assert.equal(dueAfter([fault('cut SQL', 'MariaDB', AT + 5_000)], begins), 25_000)
})

test('of a killed writer counts what was placed and drained without a fault', () => {
  const killed = (killedAt: number): WriterLife => life({ exact: false, killedAt })
  assert.equal(dueAfter([], killed(AT + 3_000)), 0)
  assert.equal(dueAfter([], killed(AT + 2_999)), undefined)
  assert.equal(dueAfter([flush], killed(AT + 60_000)), undefined)
  const passed = fault('flush a cache', 'memcached 1', AT + 7_000)
  assert.equal(dueAfter([passed], killed(AT + 60_000)), 0, 'figures have gone past it')
  const privately = { ...killed(AT + 3_000), hasPrivateCache: true }
  assert.equal(dueAfter([], privately), undefined)
})

test('what was recorded after close() need not be counted', () => {
  assert.equal(dueAfter([], life({ afterClose: 1 })), undefined)
})
