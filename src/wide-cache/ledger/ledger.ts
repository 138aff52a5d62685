import { writeRows } from '../../database/bulk.js'
import {
  type Database,
  DatabaseError,
  type SqlRow,
  type SqlValue,
  type Transaction,
} from '../../database/database.js'
import { placeholders, upsert } from '../../database/dialect.js'
import { type Clock, sleep } from '../../support/clock.js'
import type { ClockWatch } from '../clock-watch.js'
import type { Codec } from '../codec.js'
import { type Frame, rowsOf } from '../frame.js'
import type { CommitContext } from '../options.js'
import type { GridRecord, Raise } from './grid-record.js'
import { keepForeign, keepFrame, sequencesInQuarantine } from './quarantine.js'
import { WriterEntry } from './writer-entry.js'

/** What became of the frames of one transaction. */
export interface Settled {
  /** Rows committed now. */
  readonly committed: number
  /** Rows that came again and had been settled before. */
  readonly duplicate: number
  /** Rows put into quarantine now. */
  readonly quarantined: number
  /** The prefix of every writer concerned. */
  readonly prefixes: ReadonlyMap<string, number>
}

/** How frames are to be committed. */
export interface CommitOptions {
  /** The watermark rises with them. */
  readonly raise?: Raise | undefined
  /**
   * Frames that this process has settled before, out of the same cells: to read them again makes no
   * duplicates.
   */
  readonly read?: ReadonlySet<string> | undefined
}

/** What tells a frame from all others. */
export function frameKey({ writer, sequence }: Pick<Frame, 'writer' | 'sequence'>): string {
  return `${writer}:${sequence}`
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

/** Rows decoded before the process has a turn for other work. */
const ROWS_A_TURN = 2_000

/** Ids in a list of a statement. */
const IDS_A_STATEMENT = 500

/** The writer under whose id the sums of all forgotten writers are kept. */
export const FORGOTTEN: Buffer = Buffer.alloc(16)

/**
 * The SQL tables that say which frames are committed; the receiver that takes each frame once. All
 * that it does to frames is one transaction with one order of locks: the writers' rows, sorted by
 * id; then what `commit` locks; then the watermark.
 */
export class Ledger<Row> {
  readonly #database: Database
  readonly #name: string
  readonly #record: GridRecord
  readonly #watch: ClockWatch
  readonly #cellTtlSeconds: number
  readonly #codec: Codec<Row>
  readonly #clock: Clock
  readonly #commit: (rows: Row[], tx: Transaction, context: CommitContext) => Promise<void>

  /**
   * A statement of `commit` has committed by itself: nothing more is committed, since a retry would
   * double rows.
   */
  #stopped: DatabaseError | undefined

  constructor(parts: {
    database: Database
    name: string
    record: GridRecord
    watch: ClockWatch
    cellTtlSeconds: number
    codec: Codec<Row>
    clock: Clock
    commit: (rows: Row[], tx: Transaction, context: CommitContext) => Promise<void>
  }) {
    this.#database = parts.database
    this.#name = parts.name
    this.#record = parts.record
    this.#watch = parts.watch
    this.#cellTtlSeconds = parts.cellTtlSeconds
    this.#codec = parts.codec
    this.#clock = parts.clock
    this.#commit = parts.commit
  }

  /**
   * Commits those of `frames` that are new, each with all its rows.
   *
   * @throws RowsError, DatabaseError `data`: the rows are refused. WatermarkMoved. DatabaseError.
   */
  commit(frames: readonly Frame[], options: CommitOptions = {}): Promise<Settled> {
    return this.#transaction(frames, options, false, async (tx, fresh, now) => {
      if (fresh.length > 0) await this.#hand(fresh, tx, now)
    })
  }

  /** Puts those of `frames` that are new into quarantine, for `reason`. @throws DatabaseError */
  quarantine(
    frames: readonly Frame[],
    reason: string,
    options: CommitOptions = {},
  ): Promise<Settled> {
    return this.#transaction(frames, options, true, async (tx, fresh, now) => {
      for (const frame of fresh) await keepFrame(tx, this.#name, frame, reason, now)
    })
  }

  async #transaction(
    frames: readonly Frame[],
    { raise, read }: CommitOptions,
    quarantine: boolean,
    settle: (tx: Transaction, fresh: readonly Frame[], now: number) => Promise<void>,
  ): Promise<Settled> {
    if (this.#stopped) throw this.#stopped
    try {
      return await this.#database.transaction(async (tx) => {
        const now = await this.#watch.now(tx)
        const entries = await this.#lock(tx, frames, now)
        const fresh = await this.#fresh(tx, frames, entries, read)
        await settle(tx, fresh, now)
        await this.#compact(tx, entries, quarantine, now)
        if (raise) await this.#record.raise(tx, raise, now)
        let taken = 0
        let duplicate = 0
        for (const entry of entries.values()) {
          taken += entry.taken
          duplicate += entry.duplicate
        }
        return {
          committed: quarantine ? 0 : taken,
          quarantined: quarantine ? taken : 0,
          duplicate,
          prefixes: new Map([...entries].map(([writer, entry]) => [writer, entry.prefix])),
        }
      })
    } catch (error) {
      if (error instanceof DatabaseError && error.code === 'DATABASE_TRANSACTION_LOST') {
        this.#stopped = error
      }
      throw error
    }
  }

  /** The sequence number up to which all frames of a writer are settled; -1 if none is. */
  async prefixOf(writer: string): Promise<number> {
    const {
      rows: [row],
    } = await this.#database.query(
      'SELECT prefix FROM wide_cache_writers WHERE name = ? AND writer = ?',
      [this.#name, Buffer.from(writer, 'hex')],
    )
    return Number(row?.['prefix'] ?? -1)
  }

  /** The sequence numbers of a writer's frames that are in quarantine. */
  quarantinedOf(writer: string): Promise<ReadonlySet<number>> {
    return sequencesInQuarantine(this.#database, this.#name, Buffer.from(writer, 'hex'))
  }

  /**
   * Enters a writer's own sums, for what no frame will carry: rows dropped, and the last word at
   * closing.
   */
  async enterTotals({ writer, issued, dropped }: Totals): Promise<void> {
    await this.#database.query(
      upsert(
        this.#database.dialect,
        'wide_cache_writers',
        ['name', 'writer'],
        ['name', 'writer', 'issued', 'dropped', 'last_seen'],
        { issued: 'greatest', dropped: 'greatest', last_seen: 'replace' },
        1,
      ),
      [this.#name, writer, issued, dropped, await this.#watch.now(this.#database)],
    )
  }

  /** Keeps bytes that are no frame, for a human to look at. */
  async keepForeign(pieces: readonly Buffer[]): Promise<void> {
    const now = await this.#watch.now(this.#database)
    for (const bytes of pieces) await keepForeign(this.#database, this.#name, bytes, now)
  }

  /**
   * Locks the writers' rows in the order of their ids, entering what the frames say of them, and
   * reads them.
   */
  async #lock(
    tx: Transaction,
    frames: readonly Frame[],
    now: number,
  ): Promise<Map<string, WriterEntry>> {
    const heard = new Map<
      string,
      { issued: number; dropped: number; floor: number; floorIssued: number }
    >()
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
    const rows = writers.map((writer) => {
      const { issued, dropped, floor, floorIssued } = heard.get(writer)!
      return [this.#name, Buffer.from(writer, 'hex'), issued, dropped, floor, floorIssued, now]
    })
    await writeRows(tx, rows, (count) =>
      upsert(
        tx.dialect,
        'wide_cache_writers',
        ['name', 'writer'],
        ['name', 'writer', 'issued', 'dropped', 'floor', 'floor_issued', 'last_seen'],
        {
          issued: 'greatest',
          dropped: 'greatest',
          floor: 'greatest',
          floor_issued: 'greatest',
          last_seen: 'replace',
        },
        count,
      ),
    )
    for (const row of await this.#ofWriters(
      tx,
      'wide_cache_writers',
      'writer, prefix, committed, quarantined, lost, floor, floor_issued, aging_floor, ' +
        'aging_issued, aging_since',
      writers,
    )) {
      const writer = hex(row)
      entries.set(writer, new WriterEntry(writer, row))
    }
    return entries
  }

  /** Those of `frames` that the ledger does not have, each once; enters them in `entries`. */
  async #fresh(
    tx: Transaction,
    frames: readonly Frame[],
    entries: Map<string, WriterEntry>,
    read: ReadonlySet<string> = new Set(),
  ): Promise<Frame[]> {
    if (entries.size === 0) return []
    for (const row of await this.#ofWriters(
      tx,
      'wide_cache_ranges',
      'writer, first_sequence, last_sequence, issued, row_count',
      [...entries.keys()],
    )) {
      entries.get(hex(row))!.load({
        first: Number(row['first_sequence']),
        last: Number(row['last_sequence']),
        issued: Number(row['issued']),
        rows: Number(row['row_count']),
      })
    }
    const readNow = new Set<string>()
    return frames.filter((frame) => {
      const entry = entries.get(frame.writer)!
      if (entry.take(frame)) return true
      const key = frameKey(frame)
      if (read.has(key) && !readNow.has(key)) readNow.add(key)
      else entry.duplicate += frame.rowCount
      return false
    })
  }

  /** The rows of one of the ledger's tables that belong to `writers`, in the order of its key. */
  async #ofWriters(
    tx: Transaction,
    table: string,
    columns: string,
    writers: readonly string[],
  ): Promise<SqlRow[]> {
    const found: SqlRow[] = []
    for (let at = 0; at < writers.length; at += IDS_A_STATEMENT) {
      const ids = writers
        .slice(at, at + IDS_A_STATEMENT)
        .map((writer) => Buffer.from(writer, 'hex'))
      const { rows } = await tx.query(
        `SELECT ${columns} FROM ${table} ` +
          `WHERE name = ? AND writer IN (${placeholders(ids.length)}) ORDER BY ${ORDERS[table]}`,
        [this.#name, ...ids],
      )
      for (const row of rows) found.push(row)
    }
    return found
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
      await this.#commit(rows, tx, { now, name: this.#name })
    } catch (error) {
      if (error instanceof DatabaseError) throw error
      // Where a statement has failed, its error says whether the rows are to blame, whatever
      // commit() made of it.
      await tx.query('SELECT 1')
      throw new RowsError('commit() threw', { cause: error })
    }
  }

  /** Moves the prefixes on, and keeps ranges only of the frames above them. */
  async #compact(
    tx: Transaction,
    entries: Map<string, WriterEntry>,
    quarantine: boolean,
    now: number,
  ): Promise<void> {
    const ttl = this.#cellTtlSeconds * 1000
    // What has aged by a clock that stepped has not aged.
    const maySettle = this.#watch.steadyMs >= ttl
    const writers: SqlValue[][] = []
    const ranges: SqlValue[][] = []
    for (const [writer, entry] of entries) {
      const id = Buffer.from(writer, 'hex')
      const { removed, changed } = entry.compact(now, ttl, maySettle)
      for (let at = 0; at < removed.length; at += IDS_A_STATEMENT) {
        const some = removed.slice(at, at + IDS_A_STATEMENT)
        await tx.query(
          'DELETE FROM wide_cache_ranges ' +
            `WHERE name = ? AND writer = ? AND first_sequence IN (${placeholders(some.length)})`,
          [this.#name, id, ...some],
        )
      }
      for (const { first, last, issued, rows } of changed) {
        ranges.push([this.#name, id, first, last, issued, rows])
      }
      writers.push([
        this.#name,
        id,
        entry.prefix,
        quarantine ? 0 : entry.taken,
        quarantine ? entry.taken : 0,
        entry.duplicate,
        entry.lost,
        entry.agingFloor,
        entry.agingIssued,
        entry.agingSince,
      ])
    }
    await writeRows(tx, ranges, (count) =>
      upsert(
        tx.dialect,
        'wide_cache_ranges',
        ['name', 'writer', 'first_sequence'],
        ['name', 'writer', 'first_sequence', 'last_sequence', 'issued', 'row_count'],
        { last_sequence: 'replace', row_count: 'replace' },
        count,
      ),
    )
    await writeRows(tx, writers, (count) =>
      upsert(
        tx.dialect,
        'wide_cache_writers',
        ['name', 'writer'],
        [
          'name',
          'writer',
          'prefix',
          'committed',
          'quarantined',
          'duplicate',
          'lost',
          'aging_floor',
          'aging_issued',
          'aging_since',
        ],
        {
          prefix: 'replace',
          committed: 'add',
          quarantined: 'add',
          duplicate: 'add',
          lost: 'replace',
          aging_floor: 'replace',
          aging_issued: 'replace',
          aging_since: 'replace',
        },
        count,
      ),
    )
  }
}

/** The order in which ranges are loaded; the others come in any. */
const ORDERS: Readonly<Record<string, string>> = {
  wide_cache_writers: 'writer',
  wide_cache_ranges: 'writer, first_sequence',
}

function hex(row: SqlRow): string {
  const writer = row['writer']
  if (!Buffer.isBuffer(writer)) throw new TypeError('wide-cache: a writer id that is not binary')
  return writer.toString('hex')
}
