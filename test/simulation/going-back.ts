import type { SimulatedCacheServer } from '../simulated-world/simulated-cache-server.js'
import type { Run } from './run.js'

/** Longest time by which servers go back, if it is a short one. */
const SHORT_MS = 10_000

/** Takes snapshots of servers now. Returns what restores them. */
export function snapshotsOf(
  servers: readonly SimulatedCacheServer[],
): (pausesTtls: boolean) => void {
  const snapshots = servers.map((server) => server.snapshot())
  return (pausesTtls) => {
    for (const [index, server] of servers.entries()) server.restore(snapshots[index]!, pausesTtls)
  }
}

/** Has cache servers, while faults are on, go back to earlier states. */
export function goBack(run: Run): void {
  const { world, scenario, records, servers } = run
  const random = world.random.fork()
  const until = scenario.faultsMs + scenario.pauseMs
  for (let i = 0; i < scenario.goesBack; i++) {
    const takenAt = random.between(0, until)
    const latest = random.chance(0.5) ? Math.min(until, takenAt + SHORT_MS) : until
    const backAt = random.between(takenAt, latest)
    const pausesTtls = random.chance(0.5)
    const its = random.chance(0.5) ? servers : [random.pick(servers)]
    world.after(takenAt, () => {
      const restore = snapshotsOf(its)
      world.after(backAt - takenAt, () => {
        world.note(`the cache goes back by ${backAt - takenAt} ms`)
        records.cacheDisturbedAt = world.now
        restore(pausesTtls)
      })
    })
  }
}
