import type { Grid } from '../grid.js'
import { type GridRecord, type GridState, WatermarkMoved } from '../ledger/grid-record.js'
import { type DrainParts, type DrainReport, GridDrain } from './grid-drain.js'
import type { Marks } from './marks.js'

/** How often a drain begins anew without the watermark having risen. */
const MAX_RESTARTS = 5

interface CollectorParts extends DrainParts {
  readonly name: string
  readonly record: GridRecord
  readonly marks: Marks
}

/**
 * Drains all grids of a name: processes of another width or layer length have grids of their own.
 * Before a grid is drained its marks are compared, so that nothing is taken out of another
 * database's cells.
 */
export class Collector {
  readonly #parts: CollectorParts
  readonly #drains = new Map<string, GridDrain>()

  constructor(parts: CollectorParts) {
    this.#parts = parts
  }

  /**
   * Drains all layers that are old enough; with `all` also commits the younger ones, but neither
   * deletes them nor raises the watermark over them.
   */
  async drain({ all = false }: { all?: boolean | undefined } = {}): Promise<DrainReport> {
    const report: DrainReport = {
      layers: 0,
      cells: 0,
      frames: 0,
      committed: 0,
      duplicate: 0,
      quarantined: 0,
      unanswered: 0,
      watermark: 0,
    }
    for (const state of await this.#parts.record.states()) await this.#drain(state, all, report)
    return report
  }

  async #drain(state: GridState, all: boolean, report: DrainReport): Promise<void> {
    const { grid } = state
    const { record, marks, watch, database } = this.#parts
    const mark = await marks.put(grid, await watch.now(database))
    if (mark === 'foreign') return this.#changeId(grid)
    const drain = this.#drainOf(grid)
    // Of several grids, the report has the watermark of this process's own.
    const before = report.watermark
    const newest = await this.#untilDrained(drain, state, mark, report)
    if (newest === undefined) return
    if (all) await drain.commitYounger(newest, report)
    if (record.grid !== grid) report.watermark = before
  }

  async #changeId(grid: Grid): Promise<void> {
    const { record, logger, name } = this.#parts
    await record.changeId(grid)
    logger.error(
      `wide-cache: another database uses the cache keys of "${name}" (a clone of this one, ` +
        'or this one before a backup was restored); ' +
        'this database takes new keys, and what its processes have in the cache they bring ' +
        'to it themselves; nothing is to be done',
    )
  }

  #drainOf(grid: Grid): GridDrain {
    const id = grid.id.toString('hex')
    const drain = this.#drains.get(id) ?? new GridDrain(this.#parts, grid)
    this.#drains.set(id, drain)
    return drain
  }

  /** The newest layer drained, or `undefined` if the grid is gone. */
  async #untilDrained(
    drain: GridDrain,
    state: GridState | undefined,
    mark: Buffer | undefined,
    report: DrainReport,
  ): Promise<number | undefined> {
    let restarts = 0
    while (state) {
      try {
        return await drain.drain(state.watermark, mark, report)
      } catch (error) {
        if (!(error instanceof WatermarkMoved) || restarts >= MAX_RESTARTS) throw error
      }
      const { grid, watermark }: GridState = state
      state = (await this.#parts.record.states()).find((other) => other.grid.id.equals(grid.id))
      // Another collector that raises the watermark is no reason to give up.
      restarts = state && state.watermark > watermark ? 0 : restarts + 1
    }
    return undefined
  }
}
