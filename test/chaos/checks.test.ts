/**
 * The checks of the chaos find what is wrong: each of these worlds has one fault in its outcome.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LedgerReport } from '../../src/index.js'
import type { WriterLife } from './account.js'
import { mustBeThere } from './allowed-loss.js'
import { checksOf } from './checks.js'
import { type Disturbance, Disturbances } from './disturbances.js'
import type { Found } from './found.js'
import { type FaultType, TYPES } from './plan.js'
import { Tally } from './tally.js'

const ROWS = 10
const CALM = new Disturbances([])

/** So many moments, in milliseconds since the Unix epoch. */
function everySecond(from: number, seconds: number): number[] {
  return Array.from({ length: seconds }, (_, second) => from + second * 1000)
}

/** A writer that closed in order, and what its site says of it, all as it should be. */
function world(): { life: WriterLife; found: Found } {
  const life: WriterLife = {
    name: 'a-1',
    times: Array.from({ length: ROWS }, (_, number) => number),
    reports: Array.from({ length: ROWS }, (_, number) => number),
    steps: everySecond(0, 300),
    poison: new Set(),
    afterClose: ROWS,
    closed: [{ committed: 0, quarantined: 0, inCache: 0, lost: 0 }],
    exact: true,
    killedAt: 0,
    figuresPassedAt: (moment) => moment + 6_000,
    hasPrivateCache: false,
    reliesOn: ['a', 'MariaDB', 'database a'],
  }
  const [recorded, activity, seen] = [new Tally(), new Tally(), new Tally()]
  for (let number = 0; number < ROWS; number++) {
    for (const tally of [recorded, activity, seen]) tally.add('a-1', number)
  }
  const ledger: LedgerReport = {
    issued: ROWS,
    committed: ROWS,
    duplicate: 0,
    quarantined: 0,
    dropped: 0,
    outstanding: 0,
    owed: 0,
    lost: 0,
  }
  const figures = { pageViews: ROWS, visitors: 1 }
  return {
    life,
    found: {
      recorded,
      activity,
      seen,
      hits: new Map([['a-1', ROWS]]),
      unsettled: new Map(),
      ledgers: { recorded: ledger, activity: ledger, hits: ledger, seen: ledger },
      stats: figures,
      recount: figures,
      mostValues: ROWS,
      mostViews: 1,
      openDay: 0,
      findings: [],
      seenFindings: [],
    },
  }
}

function broken({ life, found }: ReturnType<typeof world>): string[] {
  return checksOf('a', [life], found, CALM)
    .filter(({ ok }) => !ok)
    .map(({ name }) => name)
}

test('nothing is broken where nothing is wrong', () => {
  assert.deepEqual(broken(world()), [])
})

test('a day that is closed before its end', () => {
  const { life, found } = world()
  const openDay = Date.now() + 60_000
  assert.deepEqual(broken({ life, found: { ...found, openDay } }), [
    'a activity: days closed before their end',
  ])
})

test('an hour that lists too many values, and a page with too many views', () => {
  const { life, found } = world()
  assert.deepEqual(broken({ life, found: { ...found, mostValues: 20_001, mostViews: 2 } }), [
    'a activity: values of an hour',
    'a activity: views of a page that was viewed once',
  ])
})

test('rows of a killed writer that must be there are named, with their age at its end', () => {
  const { life, found } = world()
  const last = life.times.at(-1)!
  const recorded = new Tally()
  for (let number = 3; number < ROWS; number++) recorded.add('a-1', number)
  const killed = { ...life, exact: false, killedAt: last + 5_000 }
  const names = broken({ life: killed, found: { ...found, recorded } })
  const seconds = ((killed.killedAt - life.times[2]!) / 1000).toFixed(1)
  const where = `: a-1 0 to 2, ${seconds} s before its end`
  assert(names.includes(`a recorded: rows of killed writers missing without an excuse${where}`))
})

test('rows on their way are told with their writer', () => {
  const { life, found } = world()
  const ledgers = { ...found.ledgers, hits: { ...found.ledgers.hits, outstanding: 1 } }
  const unsettled = new Map([['hits', ['0a1b2c3d has 1, last seen 70.0 s ago']]])
  const told = '; hits: 0a1b2c3d has 1, last seen 70.0 s ago'
  const names = broken({ life, found: { ...found, ledgers, unsettled } })
  assert(names.includes(`a hits: ledger().outstanding${told}`))
})

test('a row that is there twice', () => {
  const given = world()
  given.found.recorded.add('a-1', 3)
  assert.deepEqual(broken(given), [
    'a recorded: rows that are there again',
    'a recorded: ledger().committed',
  ])
})

test('a row of another site', () => {
  const given = world()
  given.found.activity.add('b-1', 3)
  assert.deepEqual(broken(given), [
    'a activity: rows of another site',
    'a activity: ledger().committed',
  ])
})

test('a row that is missing though its writer closed, and in no field of the ledger', () => {
  const given = world()
  given.life.times.push(ROWS)
  given.life.afterClose = ROWS + 1
  const names = broken(given)
  assert(names.includes('a recorded: rows of closed writers missing without a reason'))
  assert(names.includes('a hits: rows of closed writers missing without a reason'))
  assert(names.includes('a activity: ledger().issued'))
})

test('a report that was answered and is missing, and one that is there twice', () => {
  const given = world()
  given.life.reports.push(ROWS)
  given.found.seen.add('a-1', 3)
  assert.deepEqual(broken(given), [
    'a seen: rows that are there again',
    'a seen: rows of closed writers missing without a reason',
    'a seen: ledger().committed',
    'a seen: ledger().issued',
  ])
})

test('a row after close() that is not counted as dropped', () => {
  const given = world()
  given.life.times.push(ROWS)
  assert(broken(given).includes('a recorded: ledger().dropped'))
})

test('a field of the ledger that is wrong breaks the sum, too', () => {
  const { life, found } = world()
  const hits = { ...found.ledgers.hits, outstanding: 1 }
  const given = { life, found: { ...found, ledgers: { ...found.ledgers, hits } } }
  assert.deepEqual(broken(given), [
    'a hits: ledger().outstanding',
    'a hits: ledger() adds up to issued',
  ])
})

test("after calm a killed writer's row must be there; after a fault it may be missing", () => {
  const [at, killedAt] = [1_000_000, 1_010_000]
  let figuresPassMs = 11_000
  const must = (
    life: { recordedAt?: number; killedAt?: number; hasPrivateCache?: boolean },
    ...faults: Disturbance[]
  ): boolean =>
    mustBeThere(
      life.recordedAt ?? at,
      {
        killedAt,
        hasPrivateCache: false,
        times: [at - 60_000],
        steps: everySecond(at - 60_000, 200),
        figuresPassedAt: (moment) => moment + figuresPassMs,
        ...life,
      },
      new Disturbances(faults),
    )
  const fault = (type: FaultType, from: number, to: number): Disturbance => ({
    type,
    disturbs: TYPES[type].disturbs,
    target: 'any',
    from,
    to,
  })
  assert.equal(must({}), true)
  assert.equal(must({ recordedAt: killedAt - 100 }), false)
  assert.equal(must({ recordedAt: at - 2_000, hasPrivateCache: true }), true)
  assert.equal(must({ hasPrivateCache: true }), false, 'its end came first')
  const flush = fault('flush a cache', at - 5_000, at + 1)
  assert.equal(must({}, flush), false)
  assert.equal(must({}, fault('end process', at - 5_000, at + 1)), true)
  assert.equal(must({ killedAt: at + 100_000 }, flush), true)
  assert.equal(
    must({ killedAt: at + 100_000 }, fault('kill MariaDB', at + 5_000, at + 6_000)),
    false,
  )
  figuresPassMs = 61_000
  assert.equal(must({}), false, 'its cell was gone')
})
