import type { Reading } from './metric.js'

/** Joins the readings of objects of one class: each metric comes once, with the series of all. */
export function joined(readings: readonly (readonly Reading[])[]): Reading[] {
  const byName = new Map<string, Reading>()
  for (const { metric, samples } of readings.flat()) {
    const others = byName.get(metric.name)?.samples ?? []
    byName.set(metric.name, { metric, samples: [...others, ...samples] })
  }
  return [...byName.values()]
}
