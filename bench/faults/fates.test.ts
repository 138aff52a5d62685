import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bound, counted } from './bound.js'
import { CONTENDERS } from './contenders.js'
import { beginningFor, stepOf } from './costs.js'
import { costsOf, type Fate, holesIn } from './fates.js'

/** A visit each 100 ms, by the number of its copies in SQL; it takes a second to get there. */
function fates(...copies: readonly number[]): Fate[] {
  return copies.map((count, at) => ({
    at: at * 100,
    copies: count,
    arrived: count === 0 ? NaN : at * 100 + 1000,
  }))
}

test('a loss is traffic: of the fault that it comes before or with, or shortly after', () => {
  const visits = [...fates(1, 0, 0, 1), { at: 4_000, copies: 0, arrived: NaN }]
  const later = { at: 9_000, copies: 0, arrived: NaN }
  const faults = [
    { began: 200, ended: 300 },
    { began: 20_000, ended: 21_000 },
  ]
  assert.deepEqual(
    costsOf([...visits, later], faults, 100).map(({ lostMs }) => lostMs),
    [300, 100],
  )
})

test('repeats are traffic that came twice, and the last arrival ends the catching up', () => {
  const [cost] = costsOf(fates(1, 3, 2, 1), [{ began: 100, ended: 200 }], 100)
  assert.deepEqual(cost, { lostMs: 0, twiceMs: 300, seconds: 1 })
})

test('a hole is a lost visit that is older than one in SQL', () => {
  assert.equal(holesIn(fates(1, 0, 1, 0, 0)), 1)
  assert.equal(holesIn(fates(0, 0)), 0)
  assert.equal(holesIn(fates(1, 1, 0)), 0)
})

test('the faults come at evenly spread parts of every period', () => {
  const sites = 20
  const faultOf = (site: number): number => 1e12 + stepOf(site, sites) * 1000
  const evenly = (phases: readonly number[], what: string): void =>
    [...phases]
      .sort((a, b) => a - b)
      .forEach((phase, at) => assert(Math.abs(phase - at / sites) < 1e-3, `${what}: ${phase}`))
  for (const contender of CONTENDERS) {
    const period = contender.periodSeconds * 1000
    const phases = Array.from({ length: sites }, (_, site) => {
      const now = 1e12 - 200_000
      const beginning = beginningFor(contender, site / sites, faultOf(site), now)
      assert(beginning >= now && beginning < now + period, 'it begins at once, in its first period')
      return ((faultOf(site) - beginning) % period) / period
    })
    evenly(phases, contender.label)
  }
  // What begins with the clock: collecting, and frames of 50 ms.
  const steps = Array.from({ length: sites }, (_, site) => stepOf(site, sites))
  const part = (period: number) => steps.map((step) => (step % period) / period)
  evenly(
    part(0.05).map((phase) => Number(phase.toFixed(6)) % 1),
    'frames',
  )
})

test('a bound counts faults: 3 % of a hundred without a loss', () => {
  assert.equal(counted({ faults: 100, losing: 0 }), '0 of 100 faults')
  assert.equal(bound({ faults: 100, losing: 0 }), 'less than 3 %')
  assert.equal(bound({ faults: 100, losing: 1 }), 'less than 4.7 %')
  assert.equal(bound({ faults: 2, losing: 0 }), 'less than 100 %')
})
