import { CacheError } from '../../cache/cache.js'
import type { Looked, NamespacedCache } from '../../connections/namespaced-cache.js'
import type { Grid } from '../grid.js'
import { type GridRecord, type GridState, WatermarkMoved } from '../ledger/grid-record.js'
import { type DrainReport, newReport } from './drain-report.js'
import { type Drained, type DrainParts, GridDrain, isFarAhead } from './grid-drain.js'
import type { YoungLayers } from './young-layers.js'

/** Most restarts of a drain in a row while the watermark does not rise. */
const MAX_RESTARTS = 5

/** Interval at which a collector that keeps its lease reads the grids, and looks at the marks. */
const CONTINUED_MS = 10_000

interface NameDrainParts extends Omit<DrainParts, 'namespace'> {
  readonly settings: DrainParts['settings'] & { readonly name: string }
  readonly record: GridRecord
  readonly cache: NamespacedCache
}

/** Options of a drain. */
export interface DrainOptions {
  /** Also commit the layers that are not old enough. */
  readonly all?: boolean | undefined
  /**
   * The run follows others of the same lease. It uses what these have read: the grids and the
   * database's clock, at most 10 s old, and the marks, at most 20 s old.
   */
  readonly continues?: boolean | undefined
}

/**
 * Drains all grids of a name: processes of another width or layer length have grids of their own.
 * Before that the marks of the cache are looked at, so that nothing is taken out of another
 * database's cells.
 */
export class NameDrain {
  readonly #parts: NameDrainParts
  /** By the ids of the grids. */
  readonly #drains = new Map<string, GridDrain>()
  /** The grids as last known, by their ids. */
  #known = new Map<string, GridState>()
  /** The grid with the shortest layers. */
  #finest: Grid | undefined
  #knownAt = -Infinity
  /** The cache as it was looked at before the grids were read. */
  #looked: Looked | undefined

  constructor(parts: NameDrainParts) {
    this.#parts = parts
  }

  /**
   * Drains all layers that are old enough; with `all` also commits the younger ones, but neither
   * deletes them nor raises the watermark over them.
   */
  async drain({ all = false, continues = false }: DrainOptions = {}): Promise<DrainReport> {
    const report = newReport()
    const { clock } = this.#parts
    if (!continues || clock.elapsed() - this.#knownAt >= CONTINUED_MS) await this.#readStates()
    if (!this.#looked) return this.#leftUnanswered(report)
    try {
      for (const state of this.#known.values()) await this.#drain(state, { all, continues }, report)
    } catch (error) {
      this.#knownAt = -Infinity
      throw error
    }
    return report
  }

  /**
   * Milliseconds until a layer of some grid ends, and with it another one becomes old enough.
   *
   * @param now the database's clock
   */
  msToNextLayer(now: number): number {
    let ms = Infinity
    for (const { grid } of this.#known.values()) {
      ms = Math.min(ms, grid.layers.endOf(grid.layers.at(now)) - now)
    }
    return ms
  }

  /** The cache has not answered since this process began: its owner is not known. */
  #leftUnanswered(report: DrainReport): DrainReport {
    this.#knownAt = -Infinity
    for (const { grid } of this.#known.values()) report.unanswered += grid.width
    return report
  }

  async #readStates(): Promise<void> {
    const { cache, record, database, clock, logger } = this.#parts
    this.#looked = await cache.looked().catch((error: unknown) => {
      if (!(error instanceof CacheError)) throw error
      logger.warn(
        'unanswered',
        `wide-cache: the cache does not answer the collector (${error.message}); it is asked ` +
          'again, and the writers commit what is in its cells after confirmSeconds',
      )
      return undefined
    })
    const states = await record.states(database)
    this.#known = new Map(states.map((state) => [idOf(state.grid), state]))
    this.#finest = finestOf(states)
    this.#knownAt = clock.elapsed()
  }

  async #drain(
    state: GridState,
    { all, continues }: { all: boolean; continues: boolean },
    report: DrainReport,
  ): Promise<void> {
    const { record } = this.#parts
    const { grid } = state
    const drain = this.#drainOf(grid)
    // Of several grids, the report has the watermark of this process's own.
    const before = report.watermark
    const drained = await this.#untilDrained(drain, state, continues, report)
    if (!drained) return
    const { watermark } = report
    this.#known.set(idOf(grid), { ...state, watermark, isNew: false })
    if (drained.isWhole) await this.#commitEarly(grid, drain.young, drained.newest, report)
    if (all) await drain.young.commitAll(drained.newest, report)
    if (record.grid !== grid) report.watermark = before
  }

  /**
   * Keeps a grid whose layers are longer than those of another one from making figures older: they
   * are complete up to the moment up to which all grids are. What its younger layers hold comes to
   * SQL as early as that of the grid with the shortest layers.
   */
  async #commitEarly(
    grid: Grid,
    young: YoungLayers,
    newest: number,
    report: DrainReport,
  ): Promise<void> {
    const { settings, watch } = this.#parts
    const state = this.#known.get(idOf(grid))!
    const finest = this.#finest!
    if (grid.layerSeconds === finest.layerSeconds) return
    // Before the cells are read: what was recorded so long ago has left its open frame, and is in
    // them.
    const now = watch.estimate ?? 0
    const present = finest.layers.at(now) - settings.drainAfterLayers
    const completeTo = finest.layers.endOf(present) - state.flushMs
    // It was recorded while the clock was ahead, and would be believed once time has caught up.
    if (state.completeTo > now) return this.#completeTo(state, 0)
    if (completeTo <= Math.max(grid.layers.endOf(newest), state.completeTo)) return
    if (!(await young.commitEarly(newest, now, report))) return
    await this.#completeTo(state, completeTo)
  }

  async #completeTo(state: GridState, completeTo: number): Promise<void> {
    const { record, database } = this.#parts
    await record.completeTo(database, state.grid, completeTo)
    this.#known.set(idOf(state.grid), { ...state, completeTo })
  }

  /**
   * Returns the database's clock. In a run that continues it is a reading at most 10 s old, which
   * may be too early: so a watermark far ahead of it is compared with a new one.
   */
  async #now(continues: boolean, { grid, watermark }: GridState): Promise<number> {
    const { watch, database } = this.#parts
    const recent = continues ? await watch.recent(database) : -Infinity
    return isFarAhead(watermark, grid.layers, recent) ? watch.now(database) : recent
  }

  async #hasNamespaceChanged(): Promise<boolean> {
    const { namespace } = await this.#parts.cache.looked({ always: true })
    return !namespace.equals(this.#looked!.namespace)
  }

  #drainOf(grid: Grid): GridDrain {
    const looked = this.#looked!
    const known = this.#drains.get(idOf(grid))
    if (known?.namespace.equals(looked.namespace)) return known
    const drain = new GridDrain({ ...this.#parts, ...looked }, grid)
    this.#drains.set(idOf(grid), drain)
    return drain
  }

  /**
   * Drains a grid, and starts again if another collector moves its watermark. `undefined`: the grid
   * is gone, or its cells are in another namespace by now. The next run begins with these.
   */
  async #untilDrained(
    drain: GridDrain,
    before: GridState,
    continues: boolean,
    report: DrainReport,
  ): Promise<Drained | undefined> {
    const { record, database, cache } = this.#parts
    let state: GridState | undefined = before
    let restarts = 0
    while (state) {
      try {
        const now = await this.#now(continues, state)
        return await drain.drain(now, state, cache.namespace.newest, report)
      } catch (error) {
        if (!(error instanceof WatermarkMoved) || restarts >= MAX_RESTARTS) throw error
      }
      const { grid, watermark }: GridState = state
      const states = await record.states(database)
      state = states.find((other) => other.grid.id.equals(grid.id))
      if (!state || (await this.#hasNamespaceChanged())) break
      // Another collector that raises the watermark is no reason to give up.
      restarts = state.watermark > watermark ? 0 : restarts + 1
    }
    this.#knownAt = -Infinity
    return undefined
  }
}

/** Returns the grid with the shortest layers; `undefined` if there is none. */
function finestOf(states: readonly GridState[]): Grid | undefined {
  let finest: Grid | undefined
  for (const { grid } of states) {
    if (!finest || grid.layerSeconds < finest.layerSeconds) finest = grid
  }
  return finest
}

function idOf(grid: Grid): string {
  return grid.id.toString('hex')
}
