import { EPOCH, type World } from '../simulated-world/world.js'
import type { WatchedDatabaseServer } from './watched-database-server.js'

/** Seconds that the safe clock gains too much in a second in which the database's is ahead. */
const TOO_MUCH = 3

/** Time before a step that a collector counts with it: it last looked then. */
const LOOKED_MS = 120_000

/** Checks the time by which days close, and what is old is removed. */
export function checkAging(world: World, database: WatchedDatabaseServer, now: number): void {
  if (database.enteredAhead) return
  const { aheadMs } = database.clock
  const most = aheadMs > 0 ? TOO_MUCH * (aheadMs + LOOKED_MS) : 0
  const ahead = now - EPOCH - world.now
  world.check(
    ahead <= most,
    () => `what is old is removed by a clock that is ${ahead} ms ahead, ${most} ms are allowed`,
  )
}
