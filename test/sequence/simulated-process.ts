import type { Environment } from '../../src/support/environment.js'
import { Random } from '../simulated-world/random.js'
import { EPOCH, type World } from '../simulated-world/world.js'

/** A process of the simulation: its clock has its own pace, and it may stand still or die. */
export class SimulatedProcess {
  readonly world: World
  readonly environment: Environment
  alive = true
  #stillUntil = 0

  constructor(world: World, index: number) {
    this.world = world
    // A fifth apart at most.
    const pace = 0.9 + world.random.next() / 5
    const offset = world.random.between(0, 1_000_000)
    const random = new Random(world.seed * 100 + index)
    this.environment = {
      clock: {
        now: () => EPOCH + world.now,
        elapsed: () => offset + world.now * pace,
        after: (ms, callback) => ({ cancel: world.after(ms / pace, () => this.deliver(callback)) }),
      },
      random: () => random.next(),
      newId: () => Buffer.from(Array.from({ length: 16 }, () => random.between(0, 255))),
    }
  }

  /** Stands still, its clock going on. */
  standStill(ms: number): void {
    this.#stillUntil = this.world.now + ms
  }

  /** Lets something reach the process: later if it stands still, never if it is dead. */
  deliver(what: () => void): void {
    if (!this.alive) return
    const later = this.#stillUntil - this.world.now
    if (later > 0) this.world.after(later, () => this.deliver(what))
    else what()
  }
}
