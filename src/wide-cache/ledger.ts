import { type Database, DatabaseError, type SqlRow, type SqlValue, type Transaction } from '../database/database.js'
import { insert, placeholders, upsert } from '../database/dialect.js'
import { type Clock, sleep } from '../support/clock.js'
import type { Codec } from './codec.js'
import { type Frame, rowsOf } from './frame.js'
import type { Grid } from './grid.js'
import type { GridRecord, Raise } from './grid-record.js'
import type { CommitContext } from './options.js'
import { WriterEntry } from './writer-entry.js'

/** What became of the frames of one transaction. */
export interface Settled {
  /** Rows committed now. */
  readonly committed: number
  /** Rows of frames that had been settled before. */
  readonly duplicate: number
  /** Rows put into quarantine now. */
  readonly quarantined: number
  /** The prefix of every writer concerned. */
  readonly prefixes: ReadonlyMap<string, number>
}

/** An error of the rows themselves, as they were decoded or committed. */
export class RowsError extends Error {
  override readonly name = 'RowsError'
}

/** A writer's own sums. */
export interface Totals {
  readonly writer: Buffer
  /** Rows issued in frames so far. */
  readonly issued: number
  /** Rows dropped so far. */
  readonly dropped: number
}

/** Longest reason kept with a frame in quarantine, in characters. */
const MAX_REASON = 500

/** Bytes of one quarantine entry: what a MEDIUMBLOB and a packet of the database surely take. */
const MAX_QUARANTINE_BYTES = 1024 * 1024

/** Rows decoded before the process has a turn for other work. */
const ROWS_A_TURN = 2_000

/** Rows of an INSERT into the ledger's own tables. */
const ROWS_A_STATEMENT = 500

/**
 * The SQL tables that say which frames are committed; the receiver that takes each frame once. All that it
 * does to frames is one transaction with one order of locks: the writers' rows, sorted by id; then what
 * `commit` locks; then the watermark.
 */
export class Ledger<Row> {
  readonly #database: Database
  readonly #grid: Grid
  readonly #record: GridRecord
  readonly #cellTtlSeconds: number
  readonly #codec: Codec<Row>
  readonly #clock: Clock
  readonly #commit: (rows: Row[], tx: Transaction, context: CommitContext) => Promise<void>

  constructor(parts: {
    database: Database
    grid: Grid
    record: GridRecord
    cellTtlSeconds: number
    codec: Codec<Row>
    clock: Clock
    commit: (rows: Row[], tx: Transaction, context: CommitContext) => Promise<void>
  }) {
    this.#database = parts.database
    this.#grid = parts.grid
    this.#record = parts.record
    this.#cellTtlSeconds = parts.cellTtlSeconds
    this.#codec = parts.codec
    this.#clock = parts.clock
    this.#commit = parts.commit
  }

  /**
   * Commits those of `frames` that are new, each with all its rows, and raises the watermark with them.
   * With `quarantine`, a reason, the new ones go to the quarantine table instead.
   *
   * @throws RowsError, DatabaseError `data`: the rows are refused. WatermarkMoved. DatabaseError.
   */
  commit(frames: readonly Frame[], options: { raise?: Raise | undefined; quarantine?: string } = {}): Promise<Settled> {
    return this.#database.transaction(async (tx) => {
      const now = await tx.now()
      const entries = await this.#lock(tx, frames, now)
      const fresh = await this.#fresh(tx, frames, entries)
      let duplicate = 0
      for (const frame of frames) duplicate += frame.rowCount
      let taken = 0
      for (const frame of fresh) taken += frame.rowCount
      duplicate -= taken
      if (options.quarantine !== undefined) await this.#quarantine(tx, fresh, options.quarantine, now)
      else if (fresh.length > 0) await this.#hand(fresh, tx, now)
      await this.#compact(tx, entries, options.quarantine !== undefined, now)
      if (options.raise) await this.#record.raise(tx, options.raise, now)
      return {
        committed: options.quarantine === undefined ? taken : 0,
        quarantined: options.quarantine === undefined ? 0 : taken,
        duplicate,
        prefixes: new Map([...entries].map(([writer, entry]) => [writer, entry.prefix])),
      }
    })
  }

  /** Enters a writer's own sums, for what no frame will carry: rows dropped, and the last word at closing. */
  async enterTotals({ writer, issued, dropped }: Totals): Promise<void> {
    await this.#database.query(
      upsert(this.#database.dialect, 'wide_cache_writers', ['grid', 'writer'], ['grid', 'writer', 'issued', 'dropped', 'last_seen'],
        { issued: 'greatest', dropped: 'greatest', last_seen: 'greatest' }, 1),
      [this.#grid.name, writer, issued, dropped, await this.#database.now()])
  }

  /** Keeps bytes that are no frame, for a human to look at. */
  async keepForeign(pieces: readonly Buffer[]): Promise<void> {
    const now = await this.#database.now()
    for (const piece of pieces) {
      await this.#insertQuarantine(this.#database, [null, null, 0, 'bytes that are no frame', piece.subarray(0, MAX_QUARANTINE_BYTES), now])
    }
  }

  /** Locks the writers' rows in the order of their ids, entering what the frames say of them, and reads them. */
  async #lock(tx: Transaction, frames: readonly Frame[], now: number): Promise<Map<string, WriterEntry>> {
    const heard = new Map<string, { issued: number; dropped: number; floor: number; floorIssued: number }>()
    for (const frame of frames) {
      const said = heard.get(frame.writer)
      heard.set(frame.writer, {
        issued: Math.max(said?.issued ?? 0, frame.issued + frame.rowCount),
        dropped: Math.max(said?.dropped ?? 0, frame.dropped),
        floor: Math.max(said?.floor ?? 0, frame.floor),
        floorIssued: Math.max(said?.floorIssued ?? 0, frame.floorIssued),
      })
    }
    const writers = [...heard.keys()].sort()
    const entries = new Map<string, WriterEntry>()
    if (writers.length === 0) return entries
    const values: SqlValue[] = []
    for (const writer of writers) {
      const { issued, dropped, floor, floorIssued } = heard.get(writer)!
      values.push(this.#grid.name, Buffer.from(writer, 'hex'), issued, dropped, floor, floorIssued, now)
    }
    await tx.query(
      upsert(tx.dialect, 'wide_cache_writers', ['grid', 'writer'], ['grid', 'writer', 'issued', 'dropped', 'floor', 'floor_issued', 'last_seen'],
        { issued: 'greatest', dropped: 'greatest', floor: 'greatest', floor_issued: 'greatest', last_seen: 'greatest' }, writers.length),
      values)
    for (const row of await this.#ofWriters(tx, 'wide_cache_writers', 'writer, prefix, committed, quarantined, lost, floor, floor_issued, aging_floor, aging_issued, aging_since', writers)) {
      const writer = hex(row)
      entries.set(writer, new WriterEntry(writer, row))
    }
    return entries
  }

  /** Those of `frames` that the ledger does not have, each once; enters them in `entries`. */
  async #fresh(tx: Transaction, frames: readonly Frame[], entries: Map<string, WriterEntry>): Promise<Frame[]> {
    if (entries.size === 0) return []
    for (const row of await this.#ofWriters(tx, 'wide_cache_frames', 'writer, sequence, row_count', [...entries.keys()])) {
      entries.get(hex(row))!.known.set(Number(row['sequence']), Number(row['row_count']))
    }
    return frames.filter((frame) => entries.get(frame.writer)!.take(frame))
  }

  /** The rows of one of the ledger's tables that belong to `writers`. */
  async #ofWriters(tx: Transaction, table: string, columns: string, writers: readonly string[]): Promise<readonly SqlRow[]> {
    const { rows } = await tx.query(
      `SELECT ${columns} FROM ${table} WHERE grid = ? AND writer IN (${placeholders(writers.length)})`,
      [this.#grid.name, ...writers.map((writer) => Buffer.from(writer, 'hex'))])
    return rows
  }

  async #hand(fresh: readonly Frame[], tx: Transaction, now: number): Promise<void> {
    const rows: Row[] = []
    try {
      let turn = ROWS_A_TURN
      for (const frame of fresh) {
        if (rows.length >= turn) {
          turn = rows.length + ROWS_A_TURN
          await sleep(this.#clock, 0)
        }
        for (const bytes of rowsOf(frame)) rows.push(this.#codec.decode(bytes))
      }
    } catch (error) {
      throw new RowsError('a row that its codec cannot read', { cause: error })
    }
    try {
      await this.#commit(rows, tx, { now, name: this.#grid.name, layerSeconds: this.#grid.layerSeconds })
    } catch (error) {
      if (error instanceof DatabaseError) throw error
      // Where a statement has failed, its error says whether the rows are to blame, whatever commit() made of it.
      await tx.query('SELECT 1')
      throw new RowsError('commit() threw', { cause: error })
    }
  }

  /** Moves the prefixes on, and keeps single entries only for the frames above them. */
  async #compact(tx: Transaction, entries: Map<string, WriterEntry>, quarantine: boolean, now: number): Promise<void> {
    const writers: SqlValue[] = []
    const frames: SqlValue[] = []
    for (const [writer, entry] of entries) {
      const id = Buffer.from(writer, 'hex')
      const { newlyKept, passed } = entry.compact(now, this.#cellTtlSeconds * 1000)
      if (passed) {
        await tx.query('DELETE FROM wide_cache_frames WHERE grid = ? AND writer = ? AND sequence <= ?', [this.#grid.name, id, entry.prefix])
      }
      for (const { sequence, rowCount } of newlyKept) frames.push(this.#grid.name, id, sequence, rowCount)
      writers.push(this.#grid.name, id, entry.prefix, quarantine ? 0 : entry.taken, quarantine ? entry.taken : 0, entry.duplicate, entry.lost,
        entry.agingFloor, entry.agingIssued, entry.agingSince)
    }
    await insertMany(tx, 'wide_cache_frames', ['grid', 'writer', 'sequence', 'row_count'], frames)
    if (entries.size === 0) return
    await tx.query(
      upsert(tx.dialect, 'wide_cache_writers', ['grid', 'writer'],
        ['grid', 'writer', 'prefix', 'committed', 'quarantined', 'duplicate', 'lost', 'aging_floor', 'aging_issued', 'aging_since'],
        {
          prefix: 'replace', committed: 'add', quarantined: 'add', duplicate: 'add', lost: 'replace',
          aging_floor: 'replace', aging_issued: 'replace', aging_since: 'replace',
        }, entries.size),
      writers)
  }

  async #quarantine(tx: Transaction, frames: readonly Frame[], reason: string, now: number): Promise<void> {
    for (const frame of frames) {
      await this.#insertQuarantine(tx, [Buffer.from(frame.writer, 'hex'), frame.sequence, frame.rowCount, reason.slice(0, MAX_REASON), frame.bytes, now])
    }
  }

  async #insertQuarantine(queryable: Pick<Transaction, 'query'>, values: SqlValue[]): Promise<void> {
    await queryable.query(
      `INSERT INTO wide_cache_quarantine (grid, writer, sequence, row_count, reason, bytes, created_at) VALUES (${placeholders(7)})`,
      [this.#grid.name, ...values])
  }
}

function hex(row: SqlRow): string {
  const writer = row['writer']
  if (!Buffer.isBuffer(writer)) throw new TypeError('wide-cache: a writer id that is not binary')
  return writer.toString('hex')
}

/** Plain multi-row INSERTs of a bounded number of rows each. */
async function insertMany(tx: Transaction, table: string, columns: readonly string[], values: readonly SqlValue[]): Promise<void> {
  const step = ROWS_A_STATEMENT * columns.length
  for (let at = 0; at < values.length; at += step) {
    const part = values.slice(at, at + step)
    await tx.query(insert(table, columns, part.length / columns.length), part)
  }
}
