import { serverOf } from '../simulated-world/simulated-cache-server.js'
import { checkNoneLeftOut } from './needless.js'
import type { Run } from './run.js'
import { cellKey, gridsOf, isCell } from './schema.js'

/** Greatest error of a clock. */
export const MAX_SKEW_MS = 300_000
export const STALL_MS = 20_000

const MINUTE_MS = 60_000
const DAY_MS = 24 * 3600_000

const UNREADABLE = Buffer.from(
  'WCF\x01 is how a frame begins, but this is none, however long it may go on and on and on',
)

/** After these a cache may have lost marks, or not show them. */
const OF_CACHES: readonly string[] = [
  'evict',
  'flush',
  'restart',
  'server away',
  'cache away',
  'server gone',
  'all but cells evicted',
]

/** Something happens that no request or statement by itself brings about. */
export function disaster(run: Run): void {
  const { world, scenario } = run
  const { random } = world
  const actor = random.pick(run.actors)
  const server = random.pick(run.servers)
  const { process } = actor
  const disaster = random.pick([
    'stall',
    'stall',
    'kill',
    'kill',
    'clock step',
    'clock far off',
    'evict',
    'evict',
    'flush',
    'restart',
    'server away',
    'cache away',
    'server gone',
    'database away',
    'collectors away',
    'unreadable bytes',
    'all but cells evicted',
  ] as const)
  world.note(`disaster: ${disaster}`)
  if (OF_CACHES.includes(disaster)) run.records.cacheDisturbedAt = world.now
  switch (disaster) {
    case 'stall':
      process.stalledUntil = Math.max(
        process.stalledUntil,
        world.now + random.pick([500, STALL_MS]),
      )
      break
    case 'kill':
      checkNoneLeftOut(world, scenario, process)
      run.replace(actor)
      break
    case 'clock step':
      process.skew += random.between(-MAX_SKEW_MS, MAX_SKEW_MS)
      break
    case 'clock far off':
      stepAndBack(
        run,
        (by) => {
          process.skew += by
        },
        random.pick([30 * DAY_MS, -10 * MINUTE_MS]),
      )
      break
    case 'evict':
      for (const key of server.items.keys()) if (random.chance(0.5)) server.remove(key)
      break
    case 'all but cells evicted':
      for (const key of server.items.keys()) if (!isCell(key)) server.remove(key)
      break
    case 'flush':
      server.clear()
      break
    case 'restart':
      server.clear()
      server.downUntil = Math.max(server.downUntil, world.now + random.pick([100, 2000]))
      break
    case 'server away':
      server.downUntil = Math.max(server.downUntil, world.now + random.pick([1000, 10_000, 50_000]))
      break
    case 'cache away':
      for (const each of run.servers) {
        each.downUntil = Math.max(each.downUntil, world.now + random.pick([1000, 10_000, 50_000]))
      }
      break
    case 'server gone':
      server.clear()
      server.downUntil = Infinity
      break
    case 'database away':
      process.site.database.goAway(random.pick([500, 5000, 40_000]))
      break
    case 'collectors away':
      run.keepCollectorsAway(random.pick([30_000, 120_000]))
      break
    case 'unreadable bytes':
      for (const { id, width, layerSeconds } of gridsOf(process.site.database.look)) {
        const layer = run.layerAt(world.now, layerSeconds)
        for (let column = 0; column < width; column++) {
          const key = cellKey({ grid: id, layer: layer + random.between(0, 1), column })
          const its = serverOf(key, process.servers)
          if (!its.append(key, UNREADABLE)) its.store(key, UNREADABLE, scenario.cellTtlSeconds)
        }
      }
  }
}

/** A clock is set wrong, and right again after some time or when all is well again. */
function stepAndBack(run: Run, step: (by: number) => void, by: number): void {
  const { world } = run
  step(by)
  if (world.random.chance(0.7)) {
    world.after(world.random.pick([1000, 20_000, MINUTE_MS]), () => step(-by))
  }
}
