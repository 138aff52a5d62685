import { readCell } from '../../src/wide-cache/frame.js'
import type { Actor } from './actor.js'
import { keyOf } from './records.js'
import type { Run } from './run.js'
import { STAMP, writersOf } from './schema.js'

/** Drains on a schedule of the simulation's own, as long as the process lives. */
export class ScheduledDrains {
  readonly #run: Run
  readonly #actor: Actor

  constructor(run: Run, actor: Actor) {
    this.#run = run
    this.#actor = actor
  }

  /** As a cron line does: all at the same moments. */
  soon(): void {
    const { collectEveryMs } = this.#run.scenario
    this.#after(collectEveryMs - (this.#run.world.now % collectEveryMs))
  }

  #after(ms: number): void {
    const { world, scenario } = this.#run
    world.after(ms + world.random.between(0, scenario.jitterMs), () =>
      this.#actor.process.deliver(() => void this.#collect()),
    )
  }

  async #collect(): Promise<void> {
    const { world, collectorsAwayUntil, protocol } = this.#run
    const { process, wideCache } = this.#actor
    const away = collectorsAwayUntil - world.now
    if (away > 0) return this.#after(away)
    if (process.closing) return
    const began = world.now
    process.silentNow.clear()
    process.broughtNow.clear()
    try {
      await wideCache.drain({ all: world.random.chance(0.1) })
      for (const server of process.silentSince.keys()) {
        if (!process.silentNow.has(server)) process.silentSince.delete(server)
      }
    } catch (error) {
      world.note(`${process.name} drain: ${String(error)}`)
      world.check(
        error instanceof Error &&
          !['AssertionError', 'TypeError', 'WatermarkMoved'].includes(error.name),
        () => `drain() throws ${error instanceof Error ? error.stack : error}`,
      )
      if (error instanceof protocol.DatabaseError && error.category === 'lock') {
        this.#checkAllTried(began)
      }
    }
    if (world.random.chance(0.2)) this.#checkRanges()
    this.soon()
  }

  /**
   * A lock stops the frames that it concerns, and not those behind them. Frames that this process
   * has settled before, out of cells that still stand, are not brought again.
   */
  #checkAllTried(began: number): void {
    const { process } = this.#actor
    for (const [key, { at, value }] of process.reads) {
      if (at < began || !value) continue
      for (const frame of readCell(value, STAMP).frames) {
        this.#run.world.check(
          process.broughtNow.has(keyOf(frame)) || process.readAgain.has(keyOf(frame)),
          () => `${process.name} stops at a lock before frame ${keyOf(frame)} of ${key}`,
        )
      }
    }
  }

  /**
   * Checks that the ledger keeps of a writer only as many ranges as it has gaps, however many
   * frames lie above them.
   */
  #checkRanges(): void {
    const { world, records } = this.#run
    const { truth, database } = this.#actor.process.site
    if (!database.atRest) return
    for (const { writer, prefix, ranges } of writersOf(database.look)) {
      let runs = 0
      let before = false
      for (const frame of records.processOf(writer)?.frames ?? []) {
        if (frame.held.writer !== writer || frame.sequence <= prefix) continue
        const settled = truth.settled(frame)
        if (settled && !before) runs++
        before = settled
      }
      world.check(
        ranges <= runs,
        () => `the ledger keeps ${ranges} ranges of ${writer} where ${runs} would do`,
      )
    }
  }
}
