import type { UsedGrids } from './used-grids.js'

/** Shortest delay of the collectors after which figures are called stale. */
const LEAST_STALE_SECONDS = 10

/** A moment up to which all rows are in SQL. Times are milliseconds, by the database's clock. */
export interface Complete {
  /** The moment, since the Unix epoch. */
  readonly asOf: number
  /** Time by which it is longer ago than it should be; negative: it is not. */
  readonly overdueMs: number
  /** Whether a collector has come within the time after which writers commit directly. */
  readonly collects: boolean
}

/**
 * Returns the moment up to which all rows are in SQL, from what it said when it was asked at `now`
 * and answered at `answered`. A row lies in the layer of its time, or is missing of a writer whose
 * later frames have come. `previous`: what was returned before.
 */
export function completeUpTo(
  { grids, missingSince, directMs, directTo }: UsedGrids,
  now: number,
  answered: number,
  previous = 0,
): Complete {
  const upTo = (moment: number): number => (moment <= answered ? moment : 0)
  // Nobody has entered the name, or somebody has deleted it.
  if (grids.length === 0) return { asOf: 0, overdueMs: now, collects: true }
  // What no collector has brought by then, its writer has: so the figures go on without
  // collectors, only later.
  const direct = upTo(directTo)
  const finest = Math.min(...grids.map(({ layers }) => layers.seconds))
  let asOf = missingSince === undefined ? now : Math.max(missingSince, direct)
  let due = now
  let collects = false
  for (const grid of grids) {
    const { layers, watermark, completeTo, leaptFrom = Infinity } = grid
    const { periodSeconds, drainAfterLayers } = grid
    const end = layers.endOf(watermark)
    // If the clock was ahead, it has collectors, and what they wrote says nothing new.
    const drained = end <= answered ? end : upTo(previous)
    const brought = Math.max(drained, upTo(completeTo))
    collects ||= brought >= now - directMs || end > answered
    asOf = Math.min(asOf, Math.max(Math.min(brought, leaptFrom), direct))
    const layerSeconds = brought > drained ? finest : layers.seconds
    const dueSeconds = (drainAfterLayers + 1) * layerSeconds + behindSeconds(periodSeconds)
    due = Math.min(due, now - dueSeconds * 1000)
  }
  return { asOf, overdueMs: due - asOf, collects }
}

/** Returns the seconds that a collector which comes every `periodSeconds` may be behind. */
function behindSeconds(periodSeconds: number): number {
  return Math.max(2 * periodSeconds, LEAST_STALE_SECONDS)
}
