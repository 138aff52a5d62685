import type { Database, Queryable } from '../database/database.js'
import { upsert } from '../database/dialect.js'
import type { Grid } from './grid.js'

/** A process whose width or layer length differs from what the grid of that name was made with. */
export class GeometryError extends RangeError {
  override readonly name = 'GeometryError'
  readonly code = 'ERR_WIDE_CACHE_GEOMETRY'
}

/** Somebody else has moved the watermark since this drain read it. */
export class WatermarkMoved extends Error {
  override readonly name = 'WatermarkMoved'

  constructor() {
    super('another collector has moved the watermark')
  }
}

/** A rise of the watermark, taken only from the value it was read with. */
export interface Raise {
  readonly from: number
  readonly to: number
}

/** How long a collector that has died keeps the others waiting. */
const LEASE_MS = 20_000

/**
 * What SQL knows of a grid as a whole: its geometry, its watermark, and the advisory lease of its collectors.
 * A shared cache has one watermark; a private one (`memory:`) has its own, under the id of its process.
 */
export class GridRecord {
  readonly #database: Database
  readonly #grid: Grid
  readonly #cacheId: Buffer
  readonly #owner: Buffer

  constructor(database: Database, grid: Grid, cacheId: Buffer, owner: Buffer) {
    this.#database = database
    this.#grid = grid
    this.#cacheId = cacheId
    this.#owner = owner
  }

  /**
   * Enters the grid if it is new, with a watermark `seconds` in the past: no older cell can live.
   *
   * @throws GeometryError if other processes use this grid with another width or layer length.
   */
  async enter(seconds: number): Promise<void> {
    const { name, width, layerSeconds } = this.#grid
    const now = await this.#database.now()
    const { dialect } = this.#database
    await this.#database.query(
      upsert(dialect, 'wide_cache_grids', ['name'], ['name', 'width', 'layer_seconds', 'created_at'], { name: 'keep' }, 1),
      [name, width, layerSeconds, now])
    const { rows } = await this.#database.query('SELECT width, layer_seconds FROM wide_cache_grids WHERE name = ?', [name])
    const theirs = rows[0]
    if (theirs && (Number(theirs['width']) !== width || Number(theirs['layer_seconds']) !== layerSeconds)) {
      throw new GeometryError(
        `wide-cache: the grid "${name}" is in use with width ${theirs['width']} and layerSeconds ${theirs['layer_seconds']}; `
        + `this process asks for width ${width} and layerSeconds ${layerSeconds}; give it the same, or another name`)
    }
    await this.#database.query(
      upsert(dialect, 'wide_cache_watermarks', ['grid', 'cache_id'], ['grid', 'cache_id', 'layer', 'moved_at'], { grid: 'keep' }, 1),
      [name, this.#cacheId, this.#grid.layerAt(now - seconds * 1000), now])
  }

  /** The newest drained layer. */
  async watermark(): Promise<number> {
    const { rows } = await this.#database.query('SELECT layer FROM wide_cache_watermarks WHERE grid = ? AND cache_id = ?', [this.#grid.name, this.#cacheId])
    if (!rows[0]) throw new Error(`wide-cache: the grid "${this.#grid.name}" has lost its row in wide_cache_watermarks`)
    return Number(rows[0]['layer'])
  }

  /** Raises the watermark within `tx` by compare-and-set, and keeps the lease. @throws WatermarkMoved */
  async raise(tx: Queryable, { from, to }: Raise, now: number): Promise<void> {
    const { affectedRows } = await tx.query(
      'UPDATE wide_cache_watermarks SET layer = ?, moved_at = ?, lease_until = CASE WHEN lease_owner = ? THEN ? ELSE lease_until END WHERE grid = ? AND cache_id = ? AND layer = ?',
      [to, now, this.#owner, now + LEASE_MS, this.#grid.name, this.#cacheId, from])
    if (affectedRows !== 1) throw new WatermarkMoved()
  }

  /** Asks for the lease: `false` while another collector holds it. For speed only; nothing relies on it. */
  async lease(now: number): Promise<boolean> {
    const { affectedRows } = await this.#database.query(
      'UPDATE wide_cache_watermarks SET lease_owner = ?, lease_until = ? WHERE grid = ? AND cache_id = ? AND (lease_until < ? OR lease_owner = ?)',
      [this.#owner, now + LEASE_MS, this.#grid.name, this.#cacheId, now, this.#owner])
    return affectedRows === 1
  }

  /** Gives the lease back. */
  async release(): Promise<void> {
    await this.#database.query(
      'UPDATE wide_cache_watermarks SET lease_owner = NULL, lease_until = 0 WHERE grid = ? AND cache_id = ? AND lease_owner = ?',
      [this.#grid.name, this.#cacheId, this.#owner])
  }
}
