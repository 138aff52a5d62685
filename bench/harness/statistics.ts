/** The sums a benchmark prints: medians, and the spread as the middle half of the samples. */

/** The median, and between which values the middle half of the samples lies. */
export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

/**
 * The value below which the share `q` (0..1) of `samples` lies, interpolated. @throws RangeError
 * without samples
 */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  const at = (sorted.length - 1) * q
  const low = sorted[Math.floor(at)]
  const high = sorted[Math.ceil(at)]
  if (low === undefined || high === undefined) throw new RangeError('no samples')
  return low + (high - low) * (at - Math.floor(at))
}

export function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}

/** Each of some counters, as far as it has come since `before`. */
export function since<Name extends string>(
  before: Readonly<Record<Name, number>>,
  now: Readonly<Record<Name, number>>,
): Record<Name, number> {
  const names = Object.keys(now) as Name[]
  const entries = names.map((name) => [name, now[name] - before[name]])
  return Object.fromEntries(entries) as Record<Name, number>
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5)
}

export function spread(samples: readonly number[]): Spread {
  return { median: median(samples), low: quantile(samples, 0.25), high: quantile(samples, 0.75) }
}

/**
 * The median, and the interval that has the true one with 95 % confidence, whatever the samples'
 * distribution: between two of the samples, by how many of them lie below the median by chance.
 * With fewer than six samples that is not known; then it is the whole range.
 */
export function interval(samples: readonly number[]): Spread {
  const sorted = [...samples].sort((a, b) => a - b)
  const n = sorted.length
  // The chance of at most `below` of them under the median, both ways.
  let below = -1
  let [chance, sum] = [0.5 ** n, 0]
  while (2 * (sum + chance) <= 0.05) {
    sum += chance
    below++
    chance *= (n - below) / (below + 1)
  }
  const at = Math.max(0, below)
  return { median: median(samples), low: sorted[at]!, high: sorted[n - 1 - at]! }
}

/**
 * The 95 % confidence interval of a probability of which `hits` in `tries` were seen (E. B. Wilson,
 * 1927): right for few hits and for none, where the usual one has no width.
 */
export function wilson(
  hits: number,
  tries: number,
): { readonly low: number; readonly high: number } {
  if (tries === 0) return { low: 0, high: 1 }
  const z = 1.959964
  const rate = hits / tries
  const middle = (rate + z ** 2 / (2 * tries)) / (1 + z ** 2 / tries)
  const half =
    (z / (1 + z ** 2 / tries)) * Math.sqrt((rate * (1 - rate)) / tries + z ** 2 / (4 * tries ** 2))
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) }
}

/**
 * Returns the upper bound of a rate, with 95 % confidence, if `hits` in `tries` were seen: the
 * exact bound for rare events (Poisson). Without hits it is 3 / tries.
 */
export function mostLikely(hits: number, tries: number): number {
  if (tries === 0) return 1
  // The number of expected hits with which so few are seen once in twenty times.
  let [low, high] = [hits, 2 * hits + 10]
  for (let step = 0; step < 60; step++) {
    const expected = (low + high) / 2
    if (chanceOfAtMost(hits, expected) > 0.05) low = expected
    else high = expected
  }
  return Math.min(1, high / tries)
}

/** Returns the probability of at most `hits` where `expected` are expected. */
function chanceOfAtMost(hits: number, expected: number): number {
  let chance = 0
  let logarithm = -expected
  for (let hit = 0; hit <= hits; hit++) {
    if (hit > 0) logarithm += Math.log(expected / hit)
    chance += Math.exp(logarithm)
  }
  return chance
}

/**
 * The straight line that fits `points` best: with the least sum of squared distances in y. Needs
 * two different x.
 */
export function lineThrough(points: readonly { readonly x: number; readonly y: number }[]): {
  readonly slope: number
  readonly intercept: number
} {
  const x = mean(points.map((point) => point.x))
  const y = mean(points.map((point) => point.y))
  const slope =
    mean(points.map((point) => (point.x - x) * (point.y - y))) /
    mean(points.map((point) => (point.x - x) ** 2))
  return { slope, intercept: y - slope * x }
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length
}
