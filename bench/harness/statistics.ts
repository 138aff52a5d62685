/** The sums a benchmark prints: medians, and the spread as the middle half of the samples. */

/** The value below which the share `q` (0..1) of `samples` lies, interpolated. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  const at = (sorted.length - 1) * q
  const low = sorted[Math.floor(at)]
  const high = sorted[Math.ceil(at)]
  if (low === undefined || high === undefined) throw new RangeError('no samples')
  return low + (high - low) * (at - Math.floor(at))
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5)
}
