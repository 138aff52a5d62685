import type { Cache } from '../cache/cache.js'
import { type Clock, sleep } from '../support/clock.js'
import type { Codec } from '../support/codec.js'
import { type Frame, readCell, rowsOf } from './frame.js'
import type { Grid } from './grid.js'
import { frameKey } from './ledger/ledger.js'

/** Contents of a cell. */
export interface LiveCell {
  /** Frames in it, including those that are in other cells too. */
  readonly frames: number
  /** Its length. */
  readonly bytes: number
}

/** Contents of the cells of a layer. */
export interface LiveLayer {
  /** Start of the layer, in milliseconds since the Unix epoch. */
  readonly start: number
  readonly rows: number
  /** By columns; of some only, if the tail is sampled. */
  readonly cells: readonly LiveCell[]
}

/** Contents of the cache that may not be in SQL yet. */
export interface LiveTail {
  readonly layerSeconds: number
  /** Oldest first. */
  readonly layers: readonly LiveLayer[]
  /** Whether only some columns were read. */
  readonly sampled: boolean
}

/** Layers read, at most. */
const MAX_LAYERS = 20

/** Bytes of cells read, about; with more, only some columns are read. */
const MAX_BYTES = 1024 * 1024

/** Bytes of cells decoded before the process does other work. */
const PAUSE_BYTES = 256 * 1024

/**
 * Reads the cells from the layer of `since` up to that of `now`, the newest ones if there are many.
 * Nothing is final: rows may be in SQL already, or may never come there. Each frame counts once,
 * however many cells have it.
 *
 * @param onRow called for each row
 */
export async function readLive<Row>(
  { cache, grid, stamp, measure, codec, clock }: LiveParts<Row>,
  { since, now }: { readonly since: number; readonly now: number },
  onRow: (row: Row) => void,
): Promise<LiveTail> {
  // A clock that is a little ahead places in the next layer.
  const to = grid.layers.at(now) + 1
  const from = Math.max(grid.layers.at(since), to - MAX_LAYERS + 1)
  const first = await cache.getMany(keysOf(grid, from, to, 0, 1))
  const fit = Math.floor(MAX_BYTES / Math.max(1, bytesIn(first)))
  const columns = Math.max(1, Math.min(grid.width, fit))
  const others = await cache.getMany(keysOf(grid, from, to, 1, columns))
  const seen = new Set<string>()
  const layers: LiveLayer[] = []
  let pauseAt = PAUSE_BYTES
  let bytes = 0
  for (let layer = from; layer <= to; layer++) {
    let rows = 0
    const cells: LiveCell[] = []
    for (let column = 0; column < columns; column++) {
      const key = grid.keys.cell(layer, column)
      const cell = first.get(key) ?? others.get(key) ?? NOTHING
      const { frames } = readCell(cell, stamp)
      cells.push({ frames: frames.length, bytes: cell.length })
      for (const frame of frames) {
        if (frame.measure !== measure || seen.has(frameKey(frame))) continue
        seen.add(frameKey(frame))
        rows += frame.rowCount
        decode(frame, codec, onRow)
      }
      bytes += cell.length
      if (bytes > pauseAt) {
        pauseAt = bytes + PAUSE_BYTES
        await sleep(clock, 0)
      }
    }
    layers.push({ start: grid.layers.endOf(layer - 1), rows, cells })
  }
  return { layerSeconds: grid.layerSeconds, layers, sampled: columns < grid.width }
}

interface LiveParts<Row> {
  readonly cache: Cache
  readonly grid: Grid
  readonly stamp: number
  /** The measure whose rows are read. */
  readonly measure: number
  readonly codec: Codec<Row>
  readonly clock: Clock
}

const NOTHING = Buffer.alloc(0)

/**
 * Passes the rows of a frame to `onRow`, up to the first that cannot be read. The collector puts
 * such a frame into quarantine.
 */
function decode<Row>(frame: Frame, codec: Codec<Row>, onRow: (row: Row) => void): void {
  try {
    for (const row of rowsOf(frame)) onRow(codec.decode(row))
  } catch {
    // Bytes that are no row.
  }
}

function keysOf(grid: Grid, from: number, to: number, column: number, columns: number): string[] {
  const keys: string[] = []
  for (let layer = from; layer <= to; layer++) {
    for (let at = column; at < columns; at++) keys.push(grid.keys.cell(layer, at))
  }
  return keys
}

function bytesIn(cells: ReadonlyMap<string, Buffer>): number {
  let bytes = 0
  for (const cell of cells.values()) bytes += cell.length
  return bytes
}
