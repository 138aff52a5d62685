import type { Environment } from '../../src/support/environment.js'
import { wallRead } from './cron.js'
import type { World } from './world.js'

/** Differences of a process's clocks from the world's. */
export interface ClockFaults {
  /** Wrongness of its wall clock, in milliseconds. @default 0 */
  readonly skew?: number
  /** Seconds that pass on its monotonic clock in one of the world. @default 1 */
  readonly pace?: number
}

/** Operations of cache or database that are to be held up. */
export interface HoldUp {
  /** Beginning of the operation's name. Empty: any operation. */
  readonly operation: string
  /** Number of such operations that are answered before the first that is held up. */
  readonly after: number
  /** The most that are held up, one after the other. */
  readonly times: number
  /** Moment from which on none is held up any more, in milliseconds of the world. */
  readonly until: number
  readonly ms: number
  /** Until its answer comes the whole process stands still. Otherwise it does other work. */
  readonly stalls: boolean
}

/**
 * One process of a simulated world: its own clocks, which may be wrong, and all that reaches it. A
 * stall delays that, and a kill ends it: what awaits an answer then awaits it for ever.
 */
export class SimulatedProcess {
  readonly world: World
  readonly index: number
  readonly name: string
  /** Wrongness of its wall clock, in milliseconds. */
  skew: number
  alive = true
  stalledUntil = 0
  #holdUp: HoldUp | undefined
  #answered = 0
  /** Called when it is killed. */
  readonly onEnd: (() => void)[] = []
  readonly #pace: number
  #ids = 0

  constructor(world: World, index: number, { skew = 0, pace = 1 }: ClockFaults = {}) {
    this.world = world
    this.index = index
    this.name = `p${index}`
    this.skew = skew
    this.#pace = pace
  }

  /** Hands something to the process now, or when its stall is over, or never. */
  deliver(run: () => void): void {
    if (!this.alive) return
    if (this.world.now < this.stalledUntil) {
      this.world.after(this.stalledUntil - this.world.now, () => this.deliver(run))
    } else run()
  }

  /** Holds up the operations that `holdUp` means, from now on. */
  holdUp(holdUp: HoldUp): void {
    this.#holdUp = holdUp
    this.#answered = 0
  }

  /**
   * Hands the answer of an operation, or its failure, to the process. One that is held up comes
   * later. If the process does not stand still meanwhile, it comes within `longestMs`, because its
   * client would give up.
   */
  answer(operation: string, longestMs: number, run: () => void): void {
    const { world } = this
    const holdUp = this.#holdUp
    const isMeant =
      holdUp && this.alive && world.now < holdUp.until && operation.startsWith(holdUp.operation)
    if (!isMeant || this.#answered++ < holdUp.after) return this.deliver(run)
    if (this.#answered === holdUp.after + holdUp.times) this.#holdUp = undefined
    world.note(
      `${this.name} ${operation.slice(0, 40)} is held up: ` +
        `${holdUp.ms} ms${holdUp.stalls ? ', with the process' : ''}`,
    )
    if (holdUp.stalls) {
      this.stalledUntil = Math.max(this.stalledUntil, world.now + holdUp.ms)
      this.deliver(run)
    } else world.after(Math.min(holdUp.ms, longestMs), () => this.deliver(run))
  }

  kill(how: string): void {
    if (!this.alive) return
    this.world.note(`${this.name} ${how}`)
    this.alive = false
    for (const end of this.onEnd) end()
  }

  readonly environment: Environment = {
    clock: {
      now: () => wallRead(this.world.epoch + this.world.now + this.skew),
      elapsed: () => this.world.now * this.#pace + this.index * 1_000_003,
      after: (ms, callback) => {
        let wanted = true
        const callOff = this.world.after(ms / this.#pace, () =>
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

/** The seed of the run in which an id was drawn. */
export function seedOf(id: string): number {
  return Number.parseInt(id.slice(8, 16), 16)
}

/** The index of the process that has drawn an id. */
export function processOf(id: string): number {
  return Number.parseInt(id.slice(0, 4), 16)
}
