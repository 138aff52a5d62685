import { MAX_AHEAD_MS } from '../../src/wide-cache/published-watermark.js'
import type { FrameTruth, Records } from './records.js'
import type { Scenario } from './scenario.js'

/** A writer that is so far behind is not brought to the present. */
const MAX_BEHIND_MS = MAX_AHEAD_MS - 10_000

/**
 * Whether a frame must be in SQL before figures say that they are complete up to its rows: nothing
 * goes wrong any more, all servers take it, and its writer's clock is not ahead.
 */
export function mustBeInTime(records: Records, scenario: Scenario, frame: FrameTruth): boolean {
  const { process, closedAt, skew } = frame
  const quiet =
    scenario.otherSite === 'none' &&
    scenario.databaseStepMs === 0 &&
    scenario.itemLimit >= 1024 * 1024 &&
    scenario.serverBytes === Infinity &&
    livesLongEnough(records, scenario) &&
    scenario.orphaned === 0 &&
    !scenario.bigRows &&
    !scenario.commitsImplicitly &&
    !scenario.cachePerMachine &&
    !scenario.differentLists
  return (
    quiet &&
    closedAt >= records.calmSince &&
    !process.closing &&
    skew <= 0 &&
    skew >= -MAX_BEHIND_MS &&
    process.servers.every((server) => server.up)
  )
}

/**
 * A cell is drained while it lives, which options that are given to one process ensure. A writer
 * whose clock is ahead makes it so much earlier.
 */
function livesLongEnough({ processes }: Records, scenario: Scenario): boolean {
  const { geometries, drainAfterLayers, collectEveryMs, jitterMs, cellTtlSeconds } = scenario
  const layerSeconds = Math.max(...geometries.map((geometry) => geometry.layerSeconds))
  const drainAgeMs = (drainAfterLayers + 1) * layerSeconds * 1000
  const aheadMs = Math.max(...processes.map(({ skew }) => skew))
  return cellTtlSeconds * 1000 > aheadMs + drainAgeMs + collectEveryMs + jitterMs
}
