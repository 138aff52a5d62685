import type { Grid } from '../grid.js'
import { finestOf } from '../complete.js'
import { type GridRecord, type GridState, WatermarkMoved } from '../ledger/grid-record.js'
import { type DrainReport, newReport } from './drain-report.js'
import { type Drained, type DrainParts, GridDrain } from './grid-drain.js'
import type { Marks } from './marks.js'
import type { YoungLayers } from './young-layers.js'

/** Most restarts of a drain in a row while the watermark does not rise. */
const MAX_RESTARTS = 5

/** Interval at which a collector that keeps its lease reads the grids and puts marks. */
const STEADY_MS = 10_000

interface NameDrainParts extends DrainParts {
  readonly settings: DrainParts['settings'] & { readonly name: string }
  readonly record: GridRecord
  readonly marks: Marks
}

/** Options of a drain. */
export interface DrainOptions {
  /** Also commit the layers that are not old enough. */
  readonly all?: boolean | undefined
  /**
   * The run follows others of the same lease: it takes the grids, and the database's clock, as
   * known from them, and puts no new mark. All of these are at most 10 s old.
   */
  readonly steady?: boolean | undefined
}

interface Known {
  /** The grid as last known. */
  state: GridState
  /** Time of the last mark, taken by the cache or not, by `clock.elapsed()`. */
  markedAt: number
  /** The mark, until a raise of the watermark brings it to the grid's row. */
  mark: Buffer | undefined
}

/**
 * Drains all grids of a name: processes of another width or layer length have grids of their own.
 * Before a grid is drained its marks are compared, so that nothing is taken out of another
 * database's cells.
 */
export class NameDrain {
  readonly #parts: NameDrainParts
  readonly #drains = new Map<string, GridDrain>()
  /** The grids, by their ids. */
  #known = new Map<string, Known>()
  /** The grid with the shortest layers. */
  #finest: Grid | undefined
  #knownAt = -Infinity

  constructor(parts: NameDrainParts) {
    this.#parts = parts
  }

  /**
   * Drains all layers that are old enough; with `all` also commits the younger ones, but neither
   * deletes them nor raises the watermark over them.
   */
  async drain({ all = false, steady = false }: DrainOptions = {}): Promise<DrainReport> {
    const report = newReport()
    const { clock } = this.#parts
    if (!steady || clock.elapsed() - this.#knownAt >= STEADY_MS) await this.#readStates()
    try {
      for (const known of this.#known.values()) await this.#drain(known, { all, steady }, report)
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
    for (const { state } of this.#known.values()) {
      ms = Math.min(ms, state.grid.layers.endOf(state.grid.layers.at(now)) - now)
    }
    return ms
  }

  async #readStates(): Promise<void> {
    const before = this.#known
    const states = await this.#parts.record.states(this.#parts.database)
    this.#known = new Map(
      states.map((state) => {
        const id = idOf(state.grid)
        const { markedAt = -Infinity, mark } = before.get(id) ?? {}
        return [id, { state, markedAt, mark }]
      }),
    )
    this.#finest = finestOf(states)
    this.#knownAt = this.#parts.clock.elapsed()
  }

  async #drain(
    known: Known,
    { all, steady }: { all: boolean; steady: boolean },
    report: DrainReport,
  ): Promise<void> {
    const { record } = this.#parts
    const { state } = known
    const { grid } = state
    const mark = await this.#mark(known, steady)
    if (mark === 'foreign') return this.#changeId(grid)
    const drain = this.#drainOf(grid)
    // Of several grids, the report has the watermark of this process's own.
    const before = report.watermark
    const drained = await this.#untilDrained(drain, { state, mark, steady }, report)
    if (!drained) return
    const { watermark } = report
    if (watermark > state.watermark) known.mark = undefined
    known.state = { ...state, watermark }
    if (drained.isWhole) await this.#commitEarly(known, drain.young, drained.newest, report)
    if (all) await drain.young.commitAll(drained.newest, report)
    if (record.grid !== grid) report.watermark = before
  }

  /**
   * Keeps a grid whose layers are longer than those of another one from making figures older: they
   * are complete up to the moment up to which all grids are. What its younger layers hold comes to
   * SQL as early as that of the grid with the shortest layers.
   */
  async #commitEarly(
    known: Known,
    young: YoungLayers,
    newest: number,
    report: DrainReport,
  ): Promise<void> {
    const { settings, record, database, watch } = this.#parts
    const { grid } = known.state
    const finest = this.#finest!
    if (grid.layerSeconds === finest.layerSeconds) return
    // Before the cells are read: what was recorded so long ago is in them.
    const now = watch.estimate ?? 0
    const completeTo = finest.layers.endOf(finest.layers.at(now) - settings.drainAfterLayers)
    if (completeTo <= Math.max(grid.layers.endOf(newest), known.state.completeTo)) return
    if (!(await young.commitEarly(newest, now, report))) return
    await record.completeTo(database, grid, completeTo)
    known.state = { ...known.state, completeTo }
  }

  /**
   * Puts a mark and returns it. If a run of the same lease has put one lately, returns that one,
   * unless a raise has recorded it already.
   */
  async #mark(known: Known, steady: boolean): Promise<Buffer | 'foreign' | undefined> {
    const { marks, clock } = this.#parts
    if (steady && clock.elapsed() - known.markedAt < STEADY_MS) return known.mark
    const began = clock.elapsed()
    const mark = await marks.put(known.state.grid.keys, await this.#now(steady))
    // Until the grid has its new id, each run asks again, and drains nothing.
    if (mark === 'foreign') return mark
    known.markedAt = began
    known.mark = mark
    return mark
  }

  /** Returns the database's clock; in a steady run, from a reading at most 10 s old. */
  #now(steady: boolean): Promise<number> {
    const { watch, database } = this.#parts
    return steady ? watch.recent(database) : watch.now(database)
  }

  async #changeId(grid: Grid): Promise<void> {
    const { settings, record, database, logger } = this.#parts
    await record.changeId(database, grid)
    // From here on this process's frames go to the new keys.
    await this.#readStates()
    logger.error(
      `wide-cache: another database uses the cache keys of "${settings.name}" ` +
        '(a clone of this one, or this one before a backup was restored); ' +
        'this database takes new keys, and what its processes have in the cache they bring ' +
        'to it themselves; nothing is to be done',
    )
  }

  #drainOf(grid: Grid): GridDrain {
    const id = idOf(grid)
    const drain = this.#drains.get(id) ?? new GridDrain(this.#parts, grid)
    this.#drains.set(id, drain)
    return drain
  }

  /**
   * Drains a grid, and starts again if another collector moves its watermark. `undefined`: the grid
   * is gone.
   */
  async #untilDrained(
    drain: GridDrain,
    {
      state,
      mark,
      steady,
    }: { state: GridState | undefined; mark: Buffer | undefined; steady: boolean },
    report: DrainReport,
  ): Promise<Drained | undefined> {
    let restarts = 0
    while (state) {
      try {
        const now = await this.#now(steady)
        return await drain.drain(now, state.watermark, mark, report)
      } catch (error) {
        if (!(error instanceof WatermarkMoved) || restarts >= MAX_RESTARTS) throw error
      }
      const { grid, watermark }: GridState = state
      const states = await this.#parts.record.states(this.#parts.database)
      state = states.find((other) => other.grid.id.equals(grid.id))
      // Another collector that raises the watermark is no reason to give up.
      restarts = state && state.watermark > watermark ? 0 : restarts + 1
    }
    this.#knownAt = -Infinity
    return undefined
  }
}

function idOf(grid: Grid): string {
  return grid.id.toString('hex')
}
