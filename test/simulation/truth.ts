import type { HeldFrame, Outbox } from '../../src/wide-cache/outbox.js'
import { type Frame, readCell, rowsOf } from '../../src/wide-cache/frame.js'
import type { Heart } from './heart.js'
import { type VirtualProcess, processOf, seedOf } from './process.js'
import type { Scenario } from './scenario.js'
import { layerOf } from './virtual-cache.js'
import type { OpenTransaction, VirtualDatabase } from './virtual-database.js'
import { EPOCH, type World } from './world.js'

/** What is wrong with a row, if anything. */
export type Ailment = 'none' | 'too large' | 'not encodable' | 'refused by SQL' | 'refused by commit' | 'not decodable'

/** A row that a process has handed to `append`. */
export interface RowTruth {
  readonly id: number
  readonly process: VirtualProcess
  readonly ailment: Ailment
  committed: boolean
  quarantined: boolean
}

/** A frame that a writer has closed. */
export interface FrameTruth {
  readonly key: string
  readonly process: number
  readonly sequence: number
  readonly rows: readonly RowTruth[]
  readonly held: HeldFrame
  /** Some server has kept it at some time. */
  stored: boolean
  /** When its writer has let go of it at the bound of the outbox. */
  letGoAt: number | undefined
}

/** Bytes of a row of the simulation: its id, then padding. */
export const ROW_ID_BYTES = 6

/**
 * What has really happened, and the checks that must hold at every step: at a commit, a publication of a
 * prefix, a deletion of a cell, a rise of the watermark, and whenever a writer lets go of a frame.
 */
export class Truth {
  /** Faults are on. */
  faulty = true
  readonly rows: RowTruth[] = []
  readonly frames = new Map<string, FrameTruth>()
  committedRows = 0
  quarantinedRows = 0
  readonly #world: World
  readonly #scenario: Scenario
  readonly processes: VirtualProcess[] = []
  #watermark = -Infinity

  constructor(world: World, scenario: Scenario) {
    this.#world = world
    this.#scenario = scenario
  }

  /** A new row of a process. Its id is its place in `rows`. */
  row(process: VirtualProcess, ailment: Ailment): RowTruth {
    const row: RowTruth = { id: this.rows.length, process, ailment, committed: false, quarantined: false }
    this.rows.push(row)
    return row
  }

  refusedBySql(id: number): boolean {
    return this.rows[id]!.ailment === 'refused by SQL'
  }

  /** A writer has closed a frame. */
  closed(held: HeldFrame, outbox: Outbox): void {
    const key = keyOf(held)
    this.#world.check(!this.frames.has(key), () => `two frames are numbered ${key}`)
    const rows = rowsOf(held).map((bytes) => this.rows[bytes.readUIntBE(0, ROW_ID_BYTES)]!)
    this.frames.set(key, { key, process: processOf(held.writer), sequence: held.sequence, rows, held, stored: false, letGoAt: undefined })
    let bytes = 0
    for (const frame of outbox.frames()) bytes += frame.bytes.length
    this.#world.check(bytes <= MAX_OUTBOX_BYTES, () => `an outbox holds ${bytes} bytes`)
  }

  /** A writer has let go of a frame, `atBound` or because it takes it as confirmed. */
  released(held: HeldFrame, atBound: boolean): void {
    const frame = this.frames.get(keyOf(held))!
    if (atBound) {
      this.#world.check(held.placed && frame.stored, () => `frame ${frame.key} is let go though no cache has acknowledged it`)
      frame.letGoAt = this.#world.now
    } else {
      this.#world.check(this.settled(frame), () => `frame ${frame.key} is let go as confirmed though the ledger does not have it`)
    }
  }

  /** It has been let go of for longer than a cell lives: it is lost, and may come too late. */
  #lostByNow(frame: FrameTruth): boolean {
    return frame.letGoAt !== undefined && this.#world.now - frame.letGoAt >= this.#scenario.cellTtlSeconds * 1000
  }

  settled(frame: FrameTruth): boolean {
    return frame.rows.every((row) => row.committed || row.quarantined)
  }

  /** A server has kept a value: remembers which frames have ever been stored. */
  stored(value: Buffer): void {
    for (const frame of readCell(value).frames) {
      const known = this.frames.get(keyOf(frame))
      if (known) known.stored = true
    }
  }

  /** A collector publishes a prefix: all up to it must be settled, or lost for good. */
  publishes(writer: string, prefix: number): void {
    for (const frame of this.frames.values()) {
      if (frame.held.writer !== writer || frame.sequence > prefix) continue
      this.#world.check(this.settled(frame) || this.#lostByNow(frame), () => `prefix ${prefix} of ${writer} is published though frame ${frame.key} is not settled`)
    }
  }

  /** A collector deletes a cell: what it has read there must be settled. */
  deletes(process: VirtualProcess, key: string): void {
    const read = process.reads.get(key)
    if (!read?.value) return this.#world.fail(`${process.name} deletes ${key}, which it has not read`)
    this.#mustBeSettled(read.value, () => `${process.name} deletes ${key}`)
  }

  #mustBeSettled(cell: Buffer, what: () => string): void {
    for (const { writer, sequence } of readCell(cell).frames) {
      const frame = this.frames.get(`${writer}:${sequence}`)
      if (frame) this.#world.check(this.settled(frame) || this.#lostByNow(frame), () => `${what()} though frame ${frame.key} is not settled`)
    }
  }

  /** A transaction has been committed. */
  committed(tx: OpenTransaction, database: VirtualDatabase): void {
    for (const id of tx.rows) {
      const row = this.rows[id]
      if (!row) return this.#world.fail(`row ${id} is committed though nobody has issued it`)
      this.#world.check(!row.committed && !row.quarantined, () => `row ${id} of ${row.process.name} is committed twice`)
      row.committed = true
    }
    this.committedRows += tx.rows.length
    for (const bytes of tx.quarantined) this.#quarantined(bytes)
    const [sums] = database.look('SELECT SUM(committed) AS committed, SUM(quarantined) AS quarantined FROM wide_cache_writers')
    const committed = Number(sums!['committed'])
    const quarantined = Number(sums!['quarantined'])
    this.#world.check(committed === this.committedRows && quarantined === this.quarantinedRows, () =>
      `the ledger has ${committed} rows committed and ${quarantined} quarantined; the tables have ${this.committedRows} and ${this.quarantinedRows}`)
    if (tx.raised) this.#raised(tx.process, database)
  }

  #quarantined(bytes: Buffer): void {
    for (const { writer, sequence } of readCell(bytes).frames) {
      const frame = this.frames.get(`${writer}:${sequence}`)
      if (!frame) return this.#world.fail(`a frame is in quarantine that nobody has closed: ${writer}:${sequence}`)
      this.#world.check(frame.rows.some((row) => row.ailment !== 'none'), () => `frame ${frame.key} is in quarantine though nothing is wrong with its rows`)
      for (const row of frame.rows) {
        this.#world.check(!row.committed && !row.quarantined, () => `row ${row.id} is in quarantine and has been settled before`)
        row.quarantined = true
        this.quarantinedRows++
      }
    }
  }

  /** A process has entered the grid; the first of them sets the watermark. */
  entered(database: VirtualDatabase): void {
    const [row] = database.look('SELECT layer FROM wide_cache_watermarks')
    if (this.#watermark === -Infinity) this.#watermark = Number(row!['layer'])
    this.#world.check(this.#watermark === Number(row!['layer']), () => 'a process that enters the grid moves the watermark')
  }

  get watermark(): number {
    return this.#watermark
  }

  /** The watermark has risen: all cells below it have been read and settled, or waited for. */
  #raised(process: VirtualProcess, database: VirtualDatabase): void {
    const { layerSeconds, drainAfterLayers, cellTtlSeconds, width } = this.#scenario
    const [row] = database.look('SELECT layer FROM wide_cache_watermarks')
    const to = Number(row!['layer'])
    const before = this.#watermark
    const layerMs = layerSeconds * 1000
    const newest = Math.floor((EPOCH + this.#world.now) / layerMs) - drainAfterLayers
    this.#world.check(to >= before, () => `the watermark falls from ${before} to ${to}`)
    this.#world.check(to <= newest, () => `the watermark rises to ${to}, which is not old enough`)
    this.#watermark = to
    const oldest = newest - Math.floor(cellTtlSeconds / layerSeconds)
    for (let layer = Math.max(before + 1, oldest); layer <= to; layer++) {
      for (let column = 0; column < width; column++) {
        const key = `wide-cache:${GRID}:cell:${layer}:${column}`
        const read = process.reads.get(key)
        if (!read) {
          this.#world.fail(`${process.name} raises the watermark over ${key}, which it has not read`)
        } else if (read.answered) {
          this.#world.check(Math.floor((EPOCH + read.at) / layerMs) - drainAfterLayers >= layer, () => `${process.name} has read ${key} too early`)
          if (read.value) this.#mustBeSettled(read.value, () => `${process.name} raises the watermark over ${key}`)
        } else {
          const since = process.silentSince.get(read.server) ?? this.#world.now
          this.#world.check(read.at - since >= PATIENCE_MS, () => `${process.name} passes ${key}, whose server has been silent for ${read.at - since} ms`)
        }
      }
    }
  }

  /** At the end: no cell that a collector must have drained still holds what the ledger does not have. */
  left(key: string, value: Buffer): void {
    const { layerSeconds, drainAfterLayers } = this.#scenario
    const layer = layerOf(key)
    // The last drain may be a period old.
    const newest = Math.floor((EPOCH + this.#world.now - 2 * this.#scenario.collectEveryMs) / (layerSeconds * 1000)) - drainAfterLayers
    if (layer > this.#watermark && layer <= newest) this.#mustBeSettled(value, () => `cell ${key} has been forgotten`)
  }
}

/** The grid's name, and what its options say. */
export const GRID = 'sim'
export const MAX_OUTBOX_BYTES = 1024 * 1024
const PATIENCE_MS = 60_000

export function keyOf(frame: Pick<Frame, 'writer' | 'sequence'>): string {
  return `${frame.writer}:${frame.sequence}`
}

/** Lets the truth of each run see what its writers hold and let go of. */
export function observeOutboxes(heart: Heart, truths: ReadonlyMap<number, Truth>): void {
  const { prototype } = heart.Outbox
  const { add, remove, makeRoom } = prototype
  let atBound = false
  prototype.add = function (frame) {
    add.call(this, frame)
    truths.get(seedOf(frame.writer))?.closed(frame, this)
  }
  prototype.remove = function (frame) {
    const held = [...this.frames()].find((other) => other.sequence === frame.sequence)
    if (held) truths.get(seedOf(held.writer))?.released(held, atBound)
    remove.call(this, frame)
  }
  prototype.makeRoom = function (bytes) {
    atBound = true
    try {
      return makeRoom.call(this, bytes)
    } finally {
      atBound = false
    }
  }
}
