/**
 * Fills the grid as a site's web processes would have, had no collector come by: their frames, in
 * the package's own encoding.
 */
import { randomBytes } from 'node:crypto'
import type { Cache } from '../../src/cache/cache.js'
import { keyStartOf } from '../../src/connections/namespace.js'
import { packDimensions } from '../../src/activity/packed-dimensions.js'
import { visitCodec } from '../../src/activity/visit.js'
import { HEADER_BYTES, ROW_LENGTH_BYTES, sealFrame, stampOf } from '../../src/wide-cache/frame.js'
import { Grid } from '../../src/wide-cache/grid.js'
import { gridSettings } from '../../src/wide-cache/grid-options.js'
import { ENOUGH_MS } from '../../src/wide-cache/writer/writer.js'
import { dimensionsAt, PROCESSES, RATE, visitAt } from './visits.js'

/** Stamp of the frames of `createActivity`, with its defaults. */
const STAMP = stampOf('activity')

/** A frame of a writer that keeps all since its start. */
const FIRST = { floor: 0, floorIssued: 0, floorAt: 0, dropped: 0, measure: 0 }

/** The options that a site has by default. */
export const { width, layerSeconds, cellTtlSeconds } = gridSettings({})

/** Visits of all processes that become frames at one time. */
const VISITS_A_FLUSH = (RATE * ENOUGH_MS) / 1000

/**
 * So far back does the youngest frame lie: old enough to be drained, as a collector finds it that
 * comes every ten seconds.
 */
const AGE_MS = 12_000

/** Where frames are placed: see {@link PLACE}. */
export interface Place {
  readonly namespace: Buffer
  readonly gridId: Buffer
}

/** Selects the {@link Place} of a database with one grid. */
export const PLACE =
  'SELECT i.namespace AS namespace, g.id AS gridId ' +
  'FROM wide_cache_identity AS i, wide_cache_grids AS g'

export interface Backlog {
  /** The layer before the first: where the watermark stands. */
  readonly watermark: number
  readonly frames: number
}

/** Returns the time of the first of `count` visits, if the last one lies far enough back. */
export function startOf(count: number): number {
  const layerMs = layerSeconds * 1000
  return Math.floor((Date.now() - (count * 1000) / RATE - AGE_MS) / layerMs) * layerMs
}

/**
 * Puts the first `count` visits since `from`, the beginning of a layer, into an empty grid: that
 * with the id given, in a database with the namespace given. With `dimensions`, each visit has
 * values of the ready-made ones.
 */
export async function fill(
  cache: Cache,
  { namespace, gridId }: Place,
  from: number,
  count: number,
  dimensions: boolean,
): Promise<Backlog> {
  const keyStart = keyStartOf(namespace)
  const grid = new Grid(gridId, { width, layerSeconds })
  const writers = Array.from({ length: PROCESSES }, () => ({
    id: randomBytes(16),
    sequence: 0,
    issued: 0,
  }))
  let layer = grid.layers.at(from)
  let cells: Buffer[][] = []
  let frames = 0
  const store = async (): Promise<void> => {
    await Promise.all(
      cells.map(async (cell, column) => {
        if (cell.length === 0) return
        const key = keyStart + grid.keys.cell(layer, column)
        if (!(await cache.set(key, Buffer.concat(cell), cellTtlSeconds))) {
          throw new Error('memcached does not store a cell: give it more memory')
        }
      }),
    )
    cells = Array.from({ length: width }, () => [])
  }
  await store()
  for (let first = 0; first < count; first += VISITS_A_FLUSH) {
    const sent = grid.layers.at(from + ((first + VISITS_A_FLUSH) * 1000) / RATE)
    if (sent !== layer) {
      await store()
      layer = sent
    }
    for (const [process, writer] of writers.entries()) {
      const rows: Buffer[] = []
      for (let i = first + process; i < Math.min(first + VISITS_A_FLUSH, count); i += PROCESSES) {
        rows.push(rowOf(from, i, dimensions))
      }
      if (rows.length === 0) continue
      const bytes = Buffer.concat([Buffer.alloc(HEADER_BYTES), ...rows])
      const { id, sequence, issued } = writer
      sealFrame(bytes, { ...FIRST, sequence, issued, rowCount: rows.length }, id, STAMP)
      writer.sequence++
      writer.issued += rows.length
      cells[Math.floor(Math.random() * width)]!.push(bytes)
      frames++
    }
  }
  await store()
  return { watermark: grid.layers.at(from) - 1, frames }
}

const room = Buffer.alloc(2048)

function rowOf(from: number, i: number, dimensions: boolean): Buffer {
  const packed = dimensions ? packDimensions(dimensionsAt(i)) : undefined
  const visit = { ...visitAt(from, i), dimensions: packed }
  const end = visitCodec.encode(visit, room, ROW_LENGTH_BYTES)
  room.writeUInt32BE(end - ROW_LENGTH_BYTES, 0)
  return Buffer.from(room.subarray(0, end))
}
