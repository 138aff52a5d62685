import { EPOCH } from '../simulated-world/world.js'
import type { FrameTruth, Records } from './records.js'
import { flushMsOf, type Scenario } from './scenario.js'

/** Longest time by which a frame is closed too late, if its process does not stand still. */
const RIGHT_MS = 2_000

/** Time after a drain in which a writer has brought what the drain has not found. */
const FOUND_MISSING_MS = 5_000

/**
 * Whether the writer of a frame had the database's time: not before it has known the database's
 * clock, nor when that has stepped.
 */
export function isTimedRightly(scenario: Scenario, frame: FrameTruth): boolean {
  const { closedAt, held, process } = frame
  const flushMs = flushMsOf(scenario, process.geometry)
  return Math.abs(EPOCH + closedAt - held.openedAt) < flushMs + RIGHT_MS
}

/**
 * Whether a frame must be in SQL before figures say that they are complete up to its rows: nothing
 * goes wrong any more, and all servers take it.
 */
export function mustBeInTime(records: Records, scenario: Scenario, frame: FrameTruth): boolean {
  const { process, closedAt } = frame
  const quiet =
    scenario.otherSite === 'none' &&
    scenario.itemLimit >= 1024 * 1024 &&
    scenario.serverBytes === Infinity &&
    livesLongEnough(scenario) &&
    scenario.orphaned === 0 &&
    !scenario.bigRows &&
    !scenario.commitsImplicitly &&
    !scenario.cachePerMachine &&
    !scenario.differentLists
  return (
    quiet &&
    closedAt >= records.calmSince &&
    !process.closing &&
    // SQL has not heard of it for a minute.
    !process.isStarved &&
    isTimedRightly(scenario, frame) &&
    process.servers.every((server) => server.up)
  )
}

/**
 * Longest time by which figures go past what a cache has lost: a run may raise the watermark by
 * several layers, and then the writer brings the rows.
 */
export function toldTooEarlyMs(scenario: Scenario): number {
  const { geometries, collectEveryMs, jitterMs } = scenario
  const layerSeconds = Math.max(...geometries.map((geometry) => geometry.layerSeconds))
  return layerSeconds * 1000 + collectEveryMs + jitterMs + FOUND_MISSING_MS
}

/** A cell is drained while it lives, which options that are given to one process ensure. */
function livesLongEnough(scenario: Scenario): boolean {
  const { geometries, drainAfterLayers, collectEveryMs, jitterMs, cellTtlSeconds } = scenario
  const layerSeconds = Math.max(...geometries.map((geometry) => geometry.layerSeconds))
  const drainAgeMs = (drainAfterLayers + 1) * layerSeconds * 1000
  return cellTtlSeconds * 1000 > drainAgeMs + collectEveryMs + jitterMs
}

/** Time from the end of a layer until all that was placed there is in SQL, in any cache. */
export function broughtWithinMs(scenario: Scenario): number {
  const { geometries, drainAfterLayers, collectEveryMs, jitterMs } = scenario
  const layerSeconds = Math.max(...geometries.map((geometry) => geometry.layerSeconds))
  const drainAgeMs = (drainAfterLayers + 1) * layerSeconds * 1000
  return drainAgeMs + collectEveryMs + jitterMs + FOUND_MISSING_MS
}
