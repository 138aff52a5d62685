import type { WideCacheProcess } from './process.js'
import type { Scenario } from './scenario.js'
import { cellKey, type GridRow, gridsOf } from './schema.js'
import type { Truth } from './truth.js'
import type { WatchedDatabaseServer } from './watched-database-server.js'
import { EPOCH, type World } from '../simulated-world/world.js'

/** Time that a collector waits for a silent server. */
const PATIENCE_MS = 60_000

/**
 * Time for which a collector may act on a clock or a cell that it has read: stalls, and waits for
 * locks.
 */
const ACTS_WITHIN_MS = 120_000

/** For how long a collector carries on the clock that it has read. */
const CARRIES_MS = 10_000

/** The watermarks of one database's grids, and what must have been read when they move. */
export class Watermarks {
  readonly #world: World
  readonly #scenario: Scenario
  readonly #known = new Map<string, GridRow>()
  /** When they have come to their values, in milliseconds of the world. */
  readonly #movedAt = new Map<string, number>()
  /** Layers above `from`, up to `to`, that each watermark has passed by a clock that was ahead. */
  readonly #risenAhead = new Map<string, { readonly from: number; readonly to: number }>()

  constructor(world: World, scenario: Scenario) {
    this.#world = world
    this.#scenario = scenario
  }

  copyFrom(other: Watermarks): void {
    for (const [id, grid] of other.#known) this.#known.set(id, grid)
    for (const [id, layers] of other.#risenAhead) this.#risenAhead.set(id, layers)
    for (const [id, at] of other.#movedAt) this.#movedAt.set(id, at)
  }

  /** Tells whether a layer was old enough when the watermark passed it: it is drained no more. */
  hasPassed({ id, watermark }: GridRow, layer: number): boolean {
    const ahead = this.#risenAhead.get(id)
    return layer <= watermark && !(ahead && layer > ahead.from && layer <= ahead.to)
  }

  entered(grids: readonly GridRow[]): void {
    for (const grid of grids) {
      const known = this.#known.get(grid.id)
      this.#world.check(
        (known ?? grid).watermark === grid.watermark,
        () => 'a process that enters the grid moves the watermark',
      )
      this.#known.set(grid.id, grid)
    }
  }

  /**
   * A watermark may have moved: all cells below it have been read and settled, or waited for. It
   * falls only if it was ahead of the clock.
   */
  raised(process: WideCacheProcess, database: WatchedDatabaseServer, truth: Truth): void {
    for (const grid of gridsOf(database.look)) {
      const before = this.#known.get(grid.id)
      this.#known.set(grid.id, grid)
      if (before && before.watermark !== grid.watermark) {
        this.#check(process, database, truth, before.watermark, grid)
        this.#movedAt.set(grid.id, this.#world.now)
      }
    }
  }

  #check(
    process: WideCacheProcess,
    database: WatchedDatabaseServer,
    truth: Truth,
    before: number,
    { id, width, layerSeconds, watermark: to }: GridRow,
  ): void {
    const { drainAfterLayers, cellTtlSeconds, pauseMs } = this.#scenario
    const world = this.#world
    const oldEnough = (from: number, until = world.now) =>
      Math.floor(database.clock.latest(from, until, CARRIES_MS) / (layerSeconds * 1000)) -
      drainAfterLayers
    const actsFrom = world.now - ACTS_WITHIN_MS
    // It may have stood still since it read the clock.
    const newest = oldEnough(process.stalledUntil > actsFrom ? actsFrom - pauseMs : actsFrom)
    const isFall = to < before
    world.check(
      !isFall ||
        before * layerSeconds * 1000 >
          database.clock.earliest(Math.max(actsFrom, this.#movedAt.get(id) ?? 0), CARRIES_MS),
      () => `the watermark falls from ${before} to ${to}`,
    )
    world.check(to <= newest, () => `the watermark rises to ${to}, which is not old enough`)
    const really = Math.floor((EPOCH + world.now) / (layerSeconds * 1000)) - drainAfterLayers
    const right = Math.min(before, this.#risenAhead.get(id)?.from ?? Infinity)
    if (to > really) {
      const from = Math.min(right, Math.max(before, really))
      this.#risenAhead.set(id, { from, to: Math.max(to, this.#risenAhead.get(id)?.to ?? to) })
    } else if (isFall) this.#risenAhead.delete(id)
    const oldest = (isFall ? really : newest) - Math.floor(cellTtlSeconds / layerSeconds)
    for (let layer = Math.max((isFall ? right : before) + 1, oldest); layer <= to; layer++) {
      for (let column = 0; column < width; column++) {
        const key = cellKey({ grid: id, layer, column })
        const read = process.reads.get(key)
        if (!read) {
          world.fail(`${process.name} raises the watermark over ${key}, which it has not read`)
        } else if (read.answered) {
          world.check(
            oldEnough(read.at - ACTS_WITHIN_MS, read.at) >= layer,
            () => `${process.name} has read ${key} too early`,
          )
          if (read.value) {
            truth.mustBeSettled(
              read.value,
              () => `${process.name} raises the watermark over ${key}`,
            )
          }
        } else {
          const since = process.silentSince.get(read.server) ?? world.now
          world.check(
            read.at - since >= PATIENCE_MS,
            () =>
              `${process.name} passes ${key}, whose server has been silent for ` +
              `${read.at - since} ms`,
          )
        }
      }
    }
  }
}
