import type { Grid } from './grid.js'
import { CONFIRM_MARGIN_SECONDS, type GridSettings } from './grid-options.js'
import type { GridState } from './ledger/grid-record.js'

/** Shortest delay of the collectors after which figures are called stale. */
const LEAST_STALE_SECONDS = 10

/** A moment up to which all rows are in SQL. Times are milliseconds, by the database's clock. */
export interface Complete {
  /** The moment, since the Unix epoch. */
  readonly asOf: number
  /** Time by which it is longer ago than it should be; negative: it is not. */
  readonly overdueMs: number
  /** Whether writers bring their rows, because no collector does. */
  readonly byWriters: boolean
}

type Timing = Pick<GridSettings, 'drainAfterLayers' | 'periodSeconds' | 'directSeconds' | 'flushMs'>

/** Returns the grid with the shortest layers; `undefined` if there is none. */
export function finestOf(states: readonly GridState[]): Grid | undefined {
  let finest: Grid | undefined
  for (const { grid } of states) {
    if (!finest || grid.layerSeconds < finest.layerSeconds) finest = grid
  }
  return finest
}

/**
 * Returns the moment up to which all rows are in SQL, from what SQL says of the grids at `now`. A
 * row waits in the open frame for `flushMs`, and is placed in the layer of that moment.
 */
export function completeUpTo(states: readonly GridState[], now: number, timing: Timing): Complete {
  const { drainAfterLayers, periodSeconds: ownPeriod, directSeconds, flushMs } = timing
  const finest = finestOf(states)
  const present = finest ? finest.layers.endOf(finest.layers.at(now) - drainAfterLayers) : now
  let asOf = now - flushMs
  let due = asOf
  let byWriters = false
  for (const { grid, watermark, completeTo, periodSeconds = ownPeriod } of states) {
    // If a clock was ahead, the watermark is too.
    const drained = grid.layers.endOf(Math.min(watermark, grid.layers.at(now) - drainAfterLayers))
    const early = Math.min(completeTo, present)
    const isEarly = early > drained
    const drainAge = (drainAfterLayers + 1) * grid.layerSeconds
    // What no collector has brought, its writer has: so the figures go on without collectors, only
    // later.
    const direct =
      now - Math.max(directSeconds, drainAge + ownPeriod + 2 * CONFIRM_MARGIN_SECONDS) * 1000
    byWriters ||= Math.max(drained, early) < direct
    asOf = Math.min(asOf, Math.max(drained - flushMs, early - flushMs, direct))
    const { layerSeconds } = isEarly ? finest! : grid
    const dueSeconds = (drainAfterLayers + 1) * layerSeconds + behindSeconds(periodSeconds)
    due = Math.min(due, now - flushMs - dueSeconds * 1000)
  }
  return { asOf, overdueMs: due - asOf, byWriters }
}

/** Returns the seconds that a collector which comes every `periodSeconds` may be behind. */
function behindSeconds(periodSeconds: number): number {
  return Math.max(2 * periodSeconds, LEAST_STALE_SECONDS)
}
