import { readCell, rowsOf } from '../../src/wide-cache/frame.js'
import type { HeldFrame, Outbox } from '../../src/wide-cache/writer/outbox.js'
import { processOf } from '../simulated-world/simulated-process.js'
import type { WideCacheProcess } from './process.js'
import { STAMP } from './schema.js'
import type { World } from '../simulated-world/world.js'

/** A defect of a row, if any. */
export type Ailment =
  | 'none'
  | 'too large'
  | 'not encodable'
  | 'refused by SQL'
  | 'refused by commit'
  | 'not decodable'

/** Defects that keep a row out of every frame. */
export const UNFRAMED: readonly Ailment[] = ['too large', 'not encodable']

/** A row that a process has handed to `append`. */
export interface RowTruth {
  readonly id: number
  readonly process: WideCacheProcess
  readonly ailment: Ailment
  /** Time at which it was recorded. */
  readonly recordedAt: number
}

/** A frame that a writer has closed. */
export interface FrameTruth {
  readonly key: string
  readonly process: WideCacheProcess
  readonly sequence: number
  readonly rows: readonly RowTruth[]
  readonly held: HeldFrame
  readonly closedAt: number
  /** Its writer still holds it. */
  isHeld: boolean
  /** The cells in which some server has kept it, and when it last did. */
  readonly storedAt: Map<string, number>
  /** Time at which its writer let go of it at the bound of the outbox. */
  letGoAt: number | undefined
}

/** Bytes of a row of the simulation: its id, then padding. */
export const ROW_ID_BYTES = 6

export const MAX_OUTBOX_BYTES = 1024 * 1024

/** All that the processes of a run have recorded, whichever database they use. */
export class Records {
  readonly rows: RowTruth[] = []
  readonly frames = new Map<string, FrameTruth>()
  readonly processes: WideCacheProcess[] = []
  /**
   * Whether the processes of a clone have begun when the cache showed a mark that the clone never
   * had: then nothing of either database comes to the other one, and only the clone notices.
   */
  clonesMustPart = false
  /** Time at which a cache was last disturbed, so that it may have lost marks. */
  cacheDisturbedAt = -Infinity
  /** The namespaces that a database has given up, and when it last did. */
  readonly givenUp = new Map<string, number>()
  /** From then on nothing goes wrong that lasts. */
  calmSince = Infinity
  /** Time at which the cache lost cells though all was calm. */
  lostCellsAt = -Infinity
  /** Its servers lost all that they held: no figure goes past what was in their cells. */
  lostMemory = false
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  /** A new row of a process. Its id is its place in `rows`. */
  row(process: WideCacheProcess, ailment: Ailment): RowTruth {
    const recordedAt = this.#world.now
    const row: RowTruth = { id: this.rows.length, process, ailment, recordedAt }
    this.rows.push(row)
    process.rows.push(row)
    return row
  }

  /** The frame that has a row. */
  frameOf(row: RowTruth): FrameTruth | undefined {
    return row.process.frames.find((frame) => frame.rows.includes(row))
  }

  /** The process that has drawn an id. */
  processOf(writer: string): WideCacheProcess | undefined {
    return this.processes[processOf(writer) - 1]
  }

  /** A writer has closed a frame. */
  closed(held: HeldFrame, outbox: Outbox): void {
    const key = keyOf(held)
    this.#world.check(!this.frames.has(key), () => `two frames are numbered ${key}`)
    const process = this.processOf(held.writer)!
    const rows = rowsOf(held).map((bytes) => this.rows[bytes.readUIntBE(0, ROW_ID_BYTES)]!)
    const frame: FrameTruth = {
      key,
      process,
      sequence: held.sequence,
      rows,
      held,
      closedAt: this.#world.now,
      isHeld: true,
      storedAt: new Map(),
      letGoAt: undefined,
    }
    this.frames.set(key, frame)
    process.frames.push(frame)
    let bytes = 0
    for (const frame of outbox.frames()) bytes += frame.bytes.length
    this.#world.check(bytes <= MAX_OUTBOX_BYTES, () => `an outbox holds ${bytes} bytes`)
  }

  /** A writer has let go of a frame, `atBound` or because it takes it as confirmed. */
  released(held: HeldFrame, atBound: boolean): void {
    const frame = this.frames.get(keyOf(held))!
    frame.isHeld = false
    if (atBound) {
      this.#world.check(
        held.layer !== undefined && frame.storedAt.size > 0,
        () => `frame ${frame.key} is let go though no cache has acknowledged it`,
      )
      frame.letGoAt = this.#world.now
    } else {
      this.#world.check(
        frame.process.site.truth.settled(frame),
        () => `frame ${frame.key} is let go as confirmed though the ledger does not have it`,
      )
    }
  }

  /** A server has kept a value: remembers which frames have been stored where. */
  stored(cell: string, value: Buffer): void {
    for (const frame of readCell(value, STAMP).frames) {
      this.frames.get(keyOf(frame))?.storedAt.set(cell, this.#world.now)
    }
  }
}

export function keyOf(frame: { readonly writer: string; readonly sequence: number }): string {
  return `${frame.writer}:${frame.sequence}`
}

export function rowsIn(frames: Iterable<FrameTruth>): number {
  let rows = 0
  for (const frame of frames) rows += frame.rows.length
  return rows
}
