import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/fast-check.js'
import { Random } from '../../test/simulated-world/random.js'
import {
  interval,
  lineThrough,
  mostLikely,
  median,
  quantile,
  spread,
  wilson,
} from './statistics.js'
import { costText } from './table.js'

const samples = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), {
  minLength: 1,
  maxLength: 40,
})

test('the middle half of the samples lies around the median, in whatever order they come', () => {
  assert.deepEqual(spread([5, 1, 4, 2, 3]), { median: 3, low: 2, high: 4 })
  assert.equal(median([1, 2]), 1.5)
  assert.throws(() => median([]), RangeError)
  fc.assert(
    fc.property(samples, fc.double({ min: 0, max: 1, noNaN: true }), (values, q) => {
      const at = quantile(values, q)
      assert.equal(at, quantile([...values].reverse(), q))
      assert(at >= Math.min(...values) && at <= Math.max(...values))
    }),
  )
})

test('the confidence interval covers the sample, narrows with tries, and is never empty', () => {
  // The published interval for 1 of 10: 1.8 % to 40.4 %.
  const { low, high } = wilson(1, 10)
  assert(Math.abs(low - 0.0179) < 1e-3 && Math.abs(high - 0.4042) < 1e-3)
  assert(wilson(0, 1000).low < 1e-12 && wilson(0, 1000).high > 0.003)
  fc.assert(
    fc.property(fc.nat(500), fc.nat(500), (hits, misses) => {
      const tries = hits + misses
      if (tries === 0) return assert.deepEqual(wilson(0, 0), { low: 0, high: 1 })
      const [one, ten] = [wilson(hits, tries), wilson(10 * hits, 10 * tries)]
      assert(one.low <= hits / tries + 1e-12 && one.high >= hits / tries - 1e-12)
      assert(ten.high - ten.low < one.high - one.low)
    }),
  )
})

test('a bound is 3 / n for no hits, and a Poisson with it has so few once in twenty times', () => {
  assert(Math.abs(mostLikely(0, 3_000_000) * 3_000_000 - 2.9957) < 1e-3)
  assert(mostLikely(0, 3_000_000) < 1e-6)
  // Tables of the chi-squared distribution: half its 95 % quantile for 2 (hits + 1) degrees.
  for (const [hits, expected] of [
    [1, 4.7439],
    [5, 10.513],
    [100, 118.079],
  ] as const) {
    assert(Math.abs(mostLikely(hits, 1e6) * 1e6 - expected) < 1e-2, `${hits} hits`)
  }
  assert.equal(mostLikely(0, 0), 1)
  assert.equal(mostLikely(0, 2), 1)
})

test('the line through points is the least-squares line, exact for points on a line', () => {
  const number = fc.integer({ min: -1000, max: 1000 })
  fc.assert(
    fc.property(
      number,
      number,
      fc.uniqueArray(number, { minLength: 2, maxLength: 20 }),
      fc.array(number, { minLength: 20, maxLength: 20 }),
      (slope, intercept, xs, errors) => {
        const on = lineThrough(xs.map((x) => ({ x, y: intercept + slope * x })))
        assert(Math.abs(on.slope - slope) < 1e-6 && Math.abs(on.intercept - intercept) < 1e-3)
        const points = xs.map((x, i) => ({ x, y: intercept + slope * x + errors[i]! }))
        const off = (line: { slope: number; intercept: number }): number =>
          points.reduce((sum, { x, y }) => sum + (y - line.intercept - line.slope * x) ** 2, 0)
        const best = lineThrough(points)
        for (const [by, and] of [
          [0.01, 0],
          [-0.01, 0],
          [0, 0.1],
          [0, -0.1],
        ] as const) {
          assert(
            off(best) <= off({ slope: best.slope + by, intercept: best.intercept + and }) + 1e-6,
          )
        }
      },
    ),
  )
})

test('an interval is that of the order statistics, and covers the median 19 times of 20', () => {
  const from1to = (n: number) => Array.from({ length: n }, (_, at) => at + 1)
  // Tables of the sign test: the 6th and 15th of 20, the 2nd and 9th of 10, the ends of 6.
  assert.deepEqual(interval(from1to(20)), { median: 10.5, low: 6, high: 15 })
  assert.deepEqual(interval(from1to(10)), { median: 5.5, low: 2, high: 9 })
  assert.deepEqual(interval(from1to(6)), { median: 3.5, low: 1, high: 6 })
  assert.deepEqual(interval([3, 1]), { median: 2, low: 1, high: 3 })
  const random = new Random(1)
  const tries = 2_000
  let covered = 0
  for (let at = 0; at < tries; at++) {
    const { low, high } = interval(Array.from({ length: 20 }, () => random.next()))
    if (low <= 0.5 && high >= 0.5) covered++
  }
  assert(covered / tries > 0.94 && covered / tries < 0.98, `${covered} of ${tries}`)
})

test('a cost that noise hides is not printed as one', () => {
  assert.equal(costText({ median: 14, low: 3, high: 24 }), '14 (3-24)')
  assert.equal(costText({ median: 1, low: -2, high: 3.14159 }), 'less than 3.14')
  assert.equal(costText({ median: -2, low: -3, high: -1 }), 'not measurable')
})
