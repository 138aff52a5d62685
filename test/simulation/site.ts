import type { Records } from './records.js'
import type { Scenario } from './scenario.js'
import { Truth } from './truth.js'
import { WatchedDatabaseServer } from './watched-database-server.js'
import type { World } from '../simulated-world/world.js'

/** One database, and the truth about what it must hold. */
export class Site {
  readonly name: string
  readonly truth: Truth
  readonly database: WatchedDatabaseServer

  constructor(name: string, world: World, scenario: Scenario, records: Records) {
    this.name = name
    this.truth = new Truth(name, world, scenario, records)
    this.database = new WatchedDatabaseServer(world, scenario, this.truth)
  }

  /** Becomes a clone of another. */
  copyFrom(other: Site): void {
    this.database.copyFrom(other.database)
    this.truth.copyFrom(other.truth)
  }
}
