import type { Environment } from '../../src/support/environment.js'
import type { FrameTruth, RowTruth } from '../simulation/records.js'
import type { Shape } from '../simulation/scenario.js'
import type { Site } from '../simulation/site.js'
import type { SimulatedCacheServer } from './simulated-cache-server.js'
import { EPOCH, type World } from './world.js'

/** What a process has last seen of a cell: its value, nothing, or no answer. */
export interface CellRead {
  readonly at: number
  readonly server: string
  readonly value: Buffer | undefined
  readonly answered: boolean
}

/**
 * One virtual process: its own clock, which may be wrong, and all that reaches it, which a stall
 * delays and a kill ends: what awaits an answer then awaits it for ever.
 */
export class SimulatedProcess {
  readonly world: World
  readonly index: number
  readonly name: string
  readonly site: Site
  /** Its list of cache servers. */
  readonly servers: readonly SimulatedCacheServer[]
  readonly shape: Shape
  /** Wrongness of its wall clock, in milliseconds. */
  skew: number
  alive = true
  readonly startedAt: number
  /** It collects. */
  collects = false
  /** It has been told to close. */
  closing = false
  stalledUntil = 0
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
  /** Its database client has said that a transaction was committed before its end. */
  toldLost = false
  /** Called when it is killed. */
  readonly onEnd: (() => void)[] = []
  #ids = 0

  constructor(
    world: World,
    index: number,
    site: Site,
    servers: readonly SimulatedCacheServer[],
    shape: Shape,
    skew: number,
  ) {
    this.world = world
    this.index = index
    this.name = `p${index}`
    this.site = site
    this.servers = servers
    this.shape = shape
    this.skew = skew
    this.startedAt = world.now
  }

  /** Hands something to the process now, or when its stall is over, or never. */
  deliver(run: () => void): void {
    if (!this.alive) return
    if (this.world.now < this.stalledUntil) {
      this.world.after(this.stalledUntil - this.world.now, () => this.deliver(run))
    } else run()
  }

  kill(how: string): void {
    if (!this.alive) return
    this.world.note(`${this.name} ${how}`)
    this.alive = false
    for (const end of this.onEnd) end()
  }

  readonly environment: Environment = {
    clock: {
      now: () => {
        lastWall = EPOCH + this.world.now + this.skew
        return lastWall
      },
      elapsed: () => this.world.now + this.index * 1_000_003,
      after: (ms, callback) => {
        let wanted = true
        const callOff = this.world.after(ms, () =>
          this.deliver(() => {
            if (wanted) callback()
          }),
        )
        return {
          cancel: () => {
            wanted = false
            callOff()
          },
        }
      },
    },
    random: () => this.world.random.next(),
    newId: () => {
      const id = Buffer.alloc(16)
      id.writeUInt16BE(this.index, 0)
      id.writeUInt32BE(this.world.seed, 4)
      id.writeUInt16BE(++this.#ids, 14)
      return id
    },
  }
}

/** What the wall clock of a process last said: see cron.ts. */
let lastWall = 0

export function wallLastRead(): number {
  return lastWall
}

/** The seed of the run in which an id was drawn. */
export function seedOf(writer: string): number {
  return Number.parseInt(writer.slice(8, 16), 16)
}

/** The index of the process that has drawn an id. */
export function processOf(writer: string): number {
  return Number.parseInt(writer.slice(0, 4), 16)
}
