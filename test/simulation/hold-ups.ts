import type { HoldUp } from '../simulated-world/simulated-process.js'
import type { Random } from '../simulated-world/random.js'
import type { Actor } from './actor.js'
import { STALL_MS } from './disasters.js'
import type { Run } from './run.js'

/** Operations of cache and database, by how they begin. Empty: any. */
const OPERATIONS = [
  '',
  'append ',
  'add ',
  'set ',
  'get ',
  'getMany ',
  'delete ',
  'SELECT',
  'INSERT',
  'UPDATE',
  'DELETE',
  'COMMIT',
  'now',
]

/** The most of such operations that are answered before one is held up. */
const MOST_BEFORE = 6

/** Steps of a drain between which a writer may place a frame. */
const OF_DRAINS = ['set ', 'getMany ', 'COMMIT']

/** Time of a calm world in which collectors are held up. */
const CALM_MS = 15_000

/**
 * Holds up processes at operations that the seed draws. A stall at a drawn moment hardly ever comes
 * between two particular steps of a process; this one always comes after a step, before the next.
 */
export class HoldUps {
  readonly #run: Run
  readonly #random: Random

  constructor(run: Run) {
    this.#run = run
    this.#random = run.world.random.fork()
  }

  /** While faults are on, any process is held up. */
  begin(): void {
    const random = this.#random
    const { faultsMs, pauseMs } = this.#run.scenario
    this.#each(
      0,
      faultsMs,
      () => true,
      () => ({
        operation: random.pick(OPERATIONS),
        after: random.between(0, MOST_BEFORE),
        times: random.pick([1, 1, 4]),
        until: faultsMs + pauseMs,
        ms: random.pick([50, 250, 2000, STALL_MS]),
        stalls: random.chance(0.7),
      }),
    )
  }

  /**
   * In a calm world, `inMs` from now, only collectors are held up, in all drains: what a writer
   * holds would come late by itself.
   */
  whenCalm(inMs: number): void {
    const random = this.#random
    const until = this.#run.world.now + inMs + CALM_MS
    this.#each(
      inMs,
      inMs + CALM_MS,
      ({ writes }) => !writes,
      () => ({
        operation: random.pick(OF_DRAINS),
        after: 0,
        times: Infinity,
        until,
        ms: random.pick([500, 2000, 5000]),
        stalls: true,
      }),
    )
  }

  #each(
    fromMs: number,
    toMs: number,
    isMeant: (actor: Actor) => boolean,
    draw: () => HoldUp,
  ): void {
    const { world, scenario, actors } = this.#run
    for (let i = 0; i < scenario.holdUps; i++) {
      world.after(this.#random.between(fromMs, toMs), () => {
        const meant = actors.filter((actor) => actor.process.alive && isMeant(actor))
        if (meant.length > 0) this.#random.pick(meant).process.holdUp(draw())
      })
    }
  }
}
