import { type Database, DatabaseError, type Transaction } from '../../database/database.js'
import { select, selectOne } from '../../database/sql.js'
import { table } from '../../database/table.js'
import { type Clock, sleep } from '../../support/clock.js'
import type { ClockWatch } from '../clock-watch.js'
import type { Codec } from '../../support/codec.js'
import type { Frame } from '../frame.js'
import type { GridRecord, Raise } from './grid-record.js'
import { keepRefused } from './quarantine.js'
import { gainedWhileCellLives, readSafeAt } from './safe-clock.js'
import { byMeasure } from './frame-batches.js'
import { type Commit, commitRows, decodeRows, RowsError } from './rows.js'
import {
  lockEntries,
  type Outcome,
  seenAtOf,
  type WriterEntries,
  writeEntries,
} from './writer-entries.js'
import { proveWritable } from './write-proof.js'

/** Outcome of one transaction for its frames. */
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

/** Options of a commit of frames. */
export interface CommitOptions {
  /** Rise of the watermark in the same transaction. */
  readonly raise?: Raise | undefined
  /**
   * Frames that this process has settled before, out of the same cells, each as its
   * {@link frameKey}: they are no duplicates.
   */
  readonly settledHere?: ReadonlySet<string> | undefined
  /** A writer commits its own frames, which proves that SQL takes rows. */
  readonly isDirect?: boolean | undefined
}

/** Where and when rows are stored. */
interface Place {
  /** The name of their measure. */
  readonly name: string
  /** The database's clock. */
  readonly now: number
  /** See {@link seenAtOf}. */
  readonly seenAt: number
}

/** Returns the unique key of a frame. */
export function frameKey({ writer, sequence }: Pick<Frame, 'writer' | 'sequence'>): string {
  return `${writer}:${sequence}`
}

/** A writer's own sums. */
export interface Totals {
  readonly writer: Buffer
  /** Rows issued in frames so far. */
  readonly issued: number
  /** Rows dropped so far. */
  readonly dropped: number
}

/** Rows decoded before the process does other work. */
const PAUSE_ROWS = 1_000

/** What the ledger knows of a measure. */
interface Measure<Row> {
  readonly name: string
  readonly commit: Commit<Row>
}

/** The writer under whose id the sums of all forgotten writers are kept. */
export const FORGOTTEN: Buffer = Buffer.alloc(16)

/** Sums that writers tell of themselves. */
const TOTALS = table(
  'wide_cache_writers',
  ['name', 'writer'],
  ['issued', 'greatest'],
  ['dropped', 'greatest'],
  ['last_seen', 'greatest'],
)

/**
 * The SQL tables that say which frames are committed. Takes each frame once. Settles frames in one
 * transaction with one order of locks: the writers' rows, sorted by id; then what `commit` locks;
 * then the watermark.
 */
export class Ledger<Row> {
  /** The name of the grid, which is that of its first measure. */
  readonly name: string
  readonly #measures: readonly Measure<Row>[]
  readonly #database: Database
  readonly #record: GridRecord
  readonly #watch: ClockWatch
  /** Age of a floor below which nothing can come any more. */
  readonly #agedMs: number
  readonly #codec: Codec<Row>
  readonly #clock: Clock

  /**
   * Set when a statement of `commit` has committed by itself. Then nothing more is committed,
   * because a retry would double rows.
   */
  #stopped: DatabaseError | undefined

  /** `measures`: in the order in which frames name them. */
  constructor(parts: {
    database: Database
    measures: readonly Measure<Row>[]
    record: GridRecord
    watch: ClockWatch
    cellTtlSeconds: number
    periodSeconds: number
    codec: Codec<Row>
    clock: Clock
  }) {
    this.#database = parts.database
    this.#measures = parts.measures
    this.name = parts.measures[0]!.name
    this.#record = parts.record
    this.#watch = parts.watch
    this.#agedMs = gainedWhileCellLives(parts)
    this.#codec = parts.codec
    this.#clock = parts.clock
  }

  /** Returns the name of the measure of a frame; of one that is not known, that of the grid. */
  nameOf({ measure }: Pick<Frame, 'measure'>): string {
    return this.#measures[measure]?.name ?? this.name
  }

  /**
   * Commits those of `frames` that are new, each with all its rows.
   *
   * @throws RowsError, DatabaseError `data`: the rows are refused. WatermarkMoved. DatabaseError.
   */
  commit(frames: readonly Frame[], options: CommitOptions = {}): Promise<Settled> {
    return this.#settle('committed', frames, options, async (tx, fresh, { now, name }) => {
      const [first] = fresh
      if (!first) return
      const measure = this.#measures[first.measure]
      if (!measure) throw new RowsError('a frame of a measure that is not known here')
      await commitRows(measure.commit, await this.#decode(fresh), tx, { now, name })
    })
  }

  /** Puts those of `frames` that are new into quarantine, for `reason`. @throws DatabaseError */
  quarantine(
    frames: readonly Frame[],
    reason: string,
    options: CommitOptions = {},
  ): Promise<Settled> {
    return this.#settle('quarantined', frames, options, async (tx, fresh, { seenAt, name }) => {
      for (const frame of fresh) {
        await keepRefused(tx, { name, frame, bytes: frame.bytes, reason }, seenAt)
      }
    })
  }

  /** Raises a watermark without any frames, in one statement. @throws WatermarkMoved */
  async raise(raise: Raise): Promise<void> {
    if (this.#stopped) throw this.#stopped
    await this.#record.raise(this.#database, raise, await this.#watch.recent(this.#database))
  }

  /** Settles frames in one transaction: `store` gets those that are new, a measure at a time. */
  async #settle(
    outcome: Outcome,
    frames: readonly Frame[],
    { raise, settledHere, isDirect }: CommitOptions,
    store: (tx: Transaction, fresh: readonly Frame[], at: Place) => Promise<void>,
  ): Promise<Settled> {
    if (this.#stopped) throw this.#stopped
    try {
      return await this.#database.transaction(async (tx) => {
        const now = await this.#watch.now(tx)
        const settling = []
        for (const [measure, own] of byMeasure(frames)) {
          const name = this.nameOf({ measure })
          settling.push({ name, own, entries: await lockEntries(tx, name, own) })
        }
        for (const { name, own, entries } of settling) {
          const fresh = takeFresh(own, entries, settledHere)
          const seenAt = seenAtOf(entries, now)
          await store(tx, fresh, { now, seenAt, name })
          await writeEntries(tx, name, entries, outcome, { now, seenAt, agedMs: this.#agedMs })
        }
        // The transaction may have waited for locks since `now`.
        if (raise) await this.#record.raise(tx, raise, await this.#watch.recent(tx))
        const settled = settledOf(
          settling.map(({ entries }) => entries),
          outcome,
        )
        if (isDirect && settled.committed > 0) {
          await proveWritable(tx, this.name, await this.#watch.recent(tx))
        }
        return settled
      })
    } catch (error) {
      if (error instanceof DatabaseError && error.code === 'DATABASE_TRANSACTION_LOST') {
        this.#stopped = error
      }
      throw error
    }
  }

  /** Decodes the rows of frames. @throws RowsError */
  async #decode(frames: readonly Frame[]): Promise<Row[]> {
    const rows: Row[] = []
    let pauseAt = PAUSE_ROWS
    for (const frame of frames) {
      if (rows.length >= pauseAt) {
        pauseAt = rows.length + PAUSE_ROWS
        await sleep(this.#clock, 0)
      }
      for (const row of decodeRows(frame, this.#codec)) rows.push(row)
    }
    return rows
  }

  /**
   * Returns the sequence number up to which all frames of a writer are settled; -1: no frame is.
   */
  async prefixOf(name: string, writer: string): Promise<number> {
    const row = await selectOne(this.#database, { prefix: Number })`FROM wide_cache_writers
      WHERE name = ${name} AND writer = ${Buffer.from(writer, 'hex')}`
    return row?.prefix ?? -1
  }

  /** Returns the sequence numbers of a writer's frames that are in quarantine. */
  async quarantinedOf(name: string, writer: string): Promise<ReadonlySet<number>> {
    const found = await select(this.#database, { sequence: Number })`FROM wide_cache_quarantine
      WHERE name = ${name} AND writer = ${Buffer.from(writer, 'hex')} AND piece = 0`
    return new Set(found.map(({ sequence }) => sequence))
  }

  /**
   * Enters a writer's own sums, where no frame will carry them: for dropped rows, and at closing.
   */
  async enterTotals(name: string, { writer, issued, dropped }: Totals): Promise<void> {
    const seenAt = await this.#seenAt(name)
    await TOTALS.upsert(this.#database, [[name, writer, issued, dropped, seenAt]])
  }

  /** Keeps bytes that are no frame, for a human to look at. */
  async keepUnreadable(pieces: readonly Buffer[]): Promise<void> {
    const seenAt = await this.#seenAt(this.name)
    const reason = 'bytes that are no frame of its kind'
    for (const bytes of pieces) {
      await keepRefused(this.#database, { name: this.name, bytes, reason }, seenAt)
    }
  }

  /** As {@link seenAtOf}, outside a transaction. */
  async #seenAt(name: string): Promise<number> {
    const now = await this.#watch.now(this.#database)
    return Math.max(now, (await readSafeAt(this.#database, name)) ?? 0)
  }
}

/**
 * Enters `frames` in the entries of their writers. Returns those that the ledger does not have,
 * each once, and counts the others as duplicates, unless this process has settled them before.
 */
function takeFresh(
  frames: readonly Frame[],
  entries: WriterEntries,
  settledHere: ReadonlySet<string> = new Set(),
): Frame[] {
  const again = new Set<string>()
  return frames.filter((frame) => {
    const entry = entries.get(frame.writer)!
    if (entry.take(frame)) return true
    const key = frameKey(frame)
    if (settledHere.has(key) && !again.has(key)) again.add(key)
    else entry.duplicate += frame.rowCount
    return false
  })
}

function settledOf(all: readonly WriterEntries[], outcome: Outcome): Settled {
  let taken = 0
  let duplicate = 0
  const prefixes = new Map<string, number>()
  for (const [writer, entry] of all.flatMap((entries) => [...entries])) {
    taken += entry.taken
    duplicate += entry.duplicate
    prefixes.set(writer, entry.prefix)
  }
  return { committed: 0, quarantined: 0, duplicate, prefixes, [outcome]: taken }
}
