import { type GridRecord, type GridState, WatermarkMoved } from '../ledger/grid-record.js'
import { type DrainParts, type DrainReport, GridDrain } from './grid-drain.js'
import type { Marks } from './marks.js'

/** Drains that may begin anew without the watermark having risen. */
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
    const { record, marks, watch, database, logger, name } = this.#parts
    const mark = await marks.put(grid, await watch.now(database))
    if (mark === 'foreign') {
      await record.changeId(grid)
      logger.error(
        `wide-cache: another database uses the cache keys of "${name}" (a clone of this one, ` +
          'or this one before a backup was restored); ' +
          'this database takes new keys, and what its processes have in the cache they bring ' +
          'to it themselves; nothing is to be done',
      )
      return
    }
    const id = grid.id.toString('hex')
    const own = this.#drains.get(id) ?? new GridDrain(this.#parts, grid)
    this.#drains.set(id, own)
    // Of several grids, the report has the watermark of this process's own.
    const before = report.watermark
    const newest = await this.#untilDrained(state, own, mark, report)
    if (newest === undefined) return
    if (all) await own.young(newest, report)
    if (record.grid !== grid) report.watermark = before
  }

  /** The newest layer drained, or `undefined` if the grid is gone. */
  async #untilDrained(
    state: GridState | undefined,
    own: GridDrain,
    mark: Buffer | undefined,
    report: DrainReport,
  ): Promise<number | undefined> {
    let restarts = 0
    while (state) {
      try {
        return await own.old(state.watermark, mark, report)
      } catch (error) {
        if (!(error instanceof WatermarkMoved) || restarts >= MAX_RESTARTS) throw error
      }
      const { grid, watermark }: GridState = state
      state = (await this.#parts.record.states()).find((other) => other.grid.id.equals(grid.id))
      // Another collector that gets on is no reason to give up.
      restarts = state && state.watermark > watermark ? 0 : restarts + 1
    }
    return undefined
  }
}
