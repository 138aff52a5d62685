import type { FrameTruth } from './records.js'
import type { Scenario } from './scenario.js'
import { cellKey, gridsOf } from './schema.js'
import { serverOf } from '../simulated-world/simulated-cache-server.js'
import type { World } from '../simulated-world/world.js'

/** Time for which a server that has come back may stay unused. */
const NOTICED_WITHIN_MS = 3000

/** A frame that SQL does not take may stay unplaced for so long while the cache is well. */
const PLACED_WITHIN_MS = 15_000

/** No request of the run fails but those to servers that are down. */
function isQuiet(scenario: Scenario): boolean {
  return (
    !scenario.bigRows &&
    scenario.requestLost === 0 &&
    scenario.replyLost === 0 &&
    scenario.delayed === 0 &&
    scenario.itemLimit >= 1024 * 1024 &&
    scenario.serverBytes === Infinity &&
    !scenario.cachePerMachine &&
    // A process that has not heard yet of its grid's new id places by the old one.
    scenario.otherSite !== 'clone' &&
    !scenario.differentLists
  )
}

/** No writer holds a frame that it has not placed though the cache would have taken it. */
export function checkNoneLeftOut(
  world: World,
  scenario: Scenario,
  { frames }: { readonly frames: readonly FrameTruth[] },
): void {
  for (const frame of frames) {
    world.check(
      !isLeftOut(world, scenario, frame),
      () => `frame ${frame.key} waits in its process, though the cache would have taken it`,
    )
  }
}

function isLeftOut(world: World, scenario: Scenario, frame: FrameTruth): boolean {
  const { process, isHeld, storedAt, closedAt } = frame
  const since = world.now - PLACED_WITHIN_MS
  return (
    isHeld &&
    storedAt.size === 0 &&
    isQuiet(scenario) &&
    // Before it has placed any, a process may not know its grid.
    process.frames.some((one) => one.storedAt.size > 0) &&
    Math.max(closedAt, process.stalledUntil) <= since &&
    process.servers.every((server) => server.upSince <= since)
  )
}

/**
 * Whether a frame that its writer brought to SQL would have been taken by a cache server: a column
 * of its layer lies on one that was up all the time.
 */
export function wasNeedless(world: World, scenario: Scenario, frame: FrameTruth): boolean {
  const { process, held, closedAt, storedAt } = frame
  if (
    storedAt.size > 0 ||
    !isQuiet(scenario) ||
    !scenario.refusesAtOnce ||
    scenario.databaseStepMs > 0 ||
    scenario.clocksWrong
  ) {
    return false
  }
  // Before it has placed any, a process may not know its grid; and after one that no server took it
  // tries the cache once a second.
  const before = process.frames[process.frames.indexOf(frame) - 1]
  const knew = [...(before?.storedAt.values() ?? [])].some((at) => at < closedAt)
  if (!knew || process.closing || process.stalledUntil > closedAt) return false
  const reachable = new Set(
    process.servers.filter((server) => server.upSince <= Math.max(0, closedAt - NOTICED_WITHIN_MS)),
  )
  const wall = process.environment.clock.now() - (world.now - closedAt)
  return gridsOf(process.site.database.look)
    .filter(
      ({ width, layerSeconds }) =>
        width === process.geometry.width && layerSeconds === process.geometry.layerSeconds,
    )
    .every(({ id, width, layerSeconds }) => {
      const layerMs = layerSeconds * 1000
      const first = Math.floor(held.openedAt / layerMs)
      // A clock that has been put back since would tell of layers before.
      const last = Math.max(first, Math.floor(wall / layerMs) + 1)
      const layers = Array.from({ length: last - first + 1 }, (_, index) => first + index)
      return Array.from({ length: width }, (_, column) => column).some((column) =>
        layers.every((layer) =>
          reachable.has(serverOf(cellKey({ grid: id, layer, column }), process.servers)),
        ),
      )
    })
}
