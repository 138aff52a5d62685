import type { SimulatedCacheServer } from '../simulated-world/simulated-cache-server.js'
import type { TimeZone } from '../../src/support/time-zone.js'
import { SimulatedProcess } from '../simulated-world/simulated-process.js'
import type { World } from '../simulated-world/world.js'
import type { FrameTruth, RowTruth } from './records.js'
import type { Geometry } from './scenario.js'
import type { Site } from './site.js'

/** The last answer that a process had about a cell: its value, nothing, or no answer. */
export interface CellRead {
  readonly at: number
  readonly server: string
  readonly value: Buffer | undefined
  readonly answered: boolean
}

/** A process that uses a wide cache, with what the checks must know of it. */
export class WideCacheProcess extends SimulatedProcess {
  readonly site: Site
  /** Its list of cache servers. */
  readonly servers: readonly SimulatedCacheServer[]
  readonly geometry: Geometry
  /** The measure that its rows are of. */
  readonly measure: number
  /** Zone that it would have. */
  readonly zone: TimeZone | undefined
  readonly startedAt: number
  /** It collects. */
  collects = false
  /** It has been told to close. */
  closing = false
  /** Each answer comes so late that it may not commit all that it holds in time. */
  isStarved = false
  /** The rows that it has been given, and the frames that its writer has closed. */
  readonly rows: RowTruth[] = []
  readonly frames: FrameTruth[] = []
  /** Its reads of cells, for the checks. */
  readonly reads = new Map<string, CellRead>()
  /** Since when servers have left a question of a drain unanswered, in a row of drains. */
  readonly silentSince = new Map<string, number>()
  readonly silentNow = new Set<string>()
  /** Frames that it has brought to its ledger since its drain has begun. */
  readonly broughtNow = new Set<string>()
  /** Frames that it has settled out of cells which still stand. */
  readonly readAgain = new Set<string>()
  /** Frames that were missing, though later ones had come, when it last asked how far SQL is. */
  missing: readonly FrameTruth[] = []
  /** Its database client has said that a transaction was committed before its end. */
  toldLost = false

  constructor(
    world: World,
    index: number,
    own: {
      readonly site: Site
      readonly servers: readonly SimulatedCacheServer[]
      readonly geometry: Geometry
      readonly measure: number
      readonly zone: TimeZone | undefined
      readonly skew: number
    },
  ) {
    super(world, index, { skew: own.skew })
    this.site = own.site
    this.servers = own.servers
    this.geometry = own.geometry
    this.measure = own.measure
    this.zone = own.zone
    this.startedAt = world.now
  }
}
