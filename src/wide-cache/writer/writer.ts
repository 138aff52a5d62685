import type { Cache } from '../../cache/cache.js'
import { type Timer, sleep } from '../../support/clock.js'
import type { Environment } from '../../support/environment.js'
import { messageOf } from '../../support/errors.js'
import type { BurstLogger } from '../../support/logger.js'
import type { Codec } from '../codec.js'
import { HEADER_BYTES, ROW_LENGTH_BYTES, sealFrame } from '../frame.js'
import type { Grid } from '../grid.js'
import type { Ledger, Totals } from '../ledger/ledger.js'
import type { FrameLedger } from '../ledger/settle.js'
import { DirectCommit } from './direct-commit.js'
import { type HeldFrame, Outbox } from './outbox.js'
import { Placer } from './placer.js'
import { StraightLog } from './straight.js'

/**
 * What became of the rows that a writer still held when it was closed. `lost` is exact if SQL
 * answered, and an upper bound otherwise.
 */
export interface CloseReport {
  /** Rows that SQL has now. */
  committed: number
  /** Rows that SQL refused, kept in wide_cache_quarantine. */
  quarantined: number
  /** Rows that SQL did not take in time and that wait in the cache for a collector. */
  inCache: number
  /** Rows that neither took. */
  lost: number
}

/** What a writer needs of its wide cache. */
export interface WriterParts<Row> {
  readonly name: string
  readonly cache: Cache
  /** The grid to place in; `undefined` as long as SQL has not told. */
  readonly grid: () => Grid | undefined
  /** Collectors use another cache than this process. */
  readonly apart: () => boolean
  readonly ledger: FrameLedger &
    Pick<Ledger<unknown>, 'enterTotals' | 'prefixOf' | 'quarantinedOf'> & {
      /** Enters the grid, if that has not been done. */
      enter(): Promise<void>
      /**
       * Compares the cache with that of the collectors, and learns whether the grid has a new id.
       */
      compare(): Promise<void>
    }
  readonly codec: Codec<Row>
  /** What frames of its kind are sealed with. */
  readonly stamp: number
  readonly environment: Environment
  readonly logger: BurstLogger
  readonly flushMs: number
  readonly confirmSeconds: number
  readonly cellTtlSeconds: number
  readonly maxFrameBytes: number
  readonly maxOutboxBytes: number
  readonly closeTimeoutMs: number
  readonly maxCommitRows: number
}

/** Why frames go straight to SQL: `kind` tells one reason from another, `why` puts it in words. */
interface Reason {
  readonly kind: string
  readonly why: string
}

/** Rows at which a frame is sent at once, so that SQL takes any frame in one statement. */
const MAX_FRAME_ROWS = 1_000

/** How often the outbox is looked at while it holds anything. */
const TICK_MS = 1_000

/** How often SQL is asked for the prefix: about once in a collecting period. */
const CONFIRM_EVERY_MS = 10_000

/** A frame unplaced for so long goes straight to SQL. */
const UNPLACED_MS = 5_000

/** Wait between the tries of `close()` to reach SQL. */
const CLOSE_RETRY_MS = 200

/**
 * A writer without a frame for so long takes a new id: the ledger keeps rows of old ones 30 days
 * only.
 */
const NEW_ID_AFTER_MS = 24 * 3600 * 1000

/**
 * One process's sending side. Rows gather in the open frame; closed frames are numbered, placed in
 * the grid and held in the outbox until the ledger has them; what the grid does not bring there in
 * time is committed straight to SQL through the same ledger.
 */
export class Writer<Row> {
  readonly #parts: WriterParts<Row>
  readonly #outbox: Outbox
  readonly #placer: Placer
  readonly #direct: DirectCommit
  readonly #straight: StraightLog
  /** The open frame: header room, then rows. Copied out when it is closed. */
  readonly #open: Buffer
  #openEnd = HEADER_BYTES
  #openRows = 0
  #flushTimer: Timer | undefined
  #tickTimer: Timer | undefined

  #id: Buffer | undefined
  #idHex = ''
  #sequence = 0
  #issued = 0
  #dropped = 0
  /** The sum of dropped rows that the ledger has, or a frame on its way to it. */
  #droppedSaid = 0
  #lastClosed = 0

  #confirmAt = 0
  #closed = false
  #closing: Promise<CloseReport> | undefined
  /** close() has resolved: nothing that comes is counted any more. */
  #ended = false

  constructor(parts: WriterParts<Row>) {
    this.#parts = parts
    this.#outbox = new Outbox(parts.maxOutboxBytes)
    this.#placer = new Placer({ ...parts, entered: () => parts.ledger.enter() })
    this.#direct = new DirectCommit(parts, this.#outbox)
    this.#straight = new StraightLog({ ...parts, clock: parts.environment.clock })
    this.#open = Buffer.allocUnsafeSlow(parts.maxFrameBytes)
  }

  /** This writer's sums, the open frame included; `undefined` before its first row. */
  totals(): Totals | undefined {
    if (!this.#id && this.#openRows === 0 && this.#dropped === 0) return undefined
    return {
      writer: this.#identity(),
      issued: this.#issued + this.#openRows,
      dropped: this.#dropped,
    }
  }

  /** Takes a row into the open frame. Never throws, never waits, no I/O on the caller's tick. */
  append(row: Row): void {
    if (this.#closed) return this.#drop(1)
    if (this.#openRows === 0 && !this.#outbox.makeRoom(this.#open.length)) return this.#drop(1)
    let end: number
    try {
      end = this.#encode(row)
      if (end < 0 && this.#openRows > 0) {
        this.#placeSoon(this.#closeFrame())
        if (!this.#outbox.makeRoom(this.#open.length)) return this.#drop(1)
        end = this.#encode(row)
      }
    } catch {
      this.#parts.logger.warn(
        'encode',
        'wide-cache: a row that its codec cannot write is dropped and counted',
      )
      return this.#drop(1)
    }
    if (end < 0) {
      this.#parts.logger.warn(
        'row size',
        `wide-cache: a row over the ${this.#open.length} bytes of a frame is dropped and ` +
          'counted; raise maxFrameBytes',
      )
      return this.#drop(1)
    }
    this.#open.writeUInt32BE(end - this.#openEnd - ROW_LENGTH_BYTES, this.#openEnd)
    this.#openEnd = end
    if (++this.#openRows === MAX_FRAME_ROWS) return this.#placeSoon(this.#closeFrame())
    if (this.#openRows === 1) {
      this.#flushTimer = this.#parts.environment.clock.after(this.#parts.flushMs, () => {
        this.#flushTimer = undefined
        void this.#place(this.#closeFrame())
      })
    }
  }

  /**
   * Resolves when all rows taken so far are in the cache or in SQL. @throws what SQL says, when
   * neither took them.
   */
  async flush(): Promise<void> {
    if (this.#openRows > 0) void this.#place(this.#closeFrame())
    const held = [...this.#outbox.frames()]
    await Promise.all(held.map((frame) => (frame.placed ? undefined : this.#place(frame))))
    const unplaced = held.filter((frame) => !frame.placed && this.#outbox.has(frame))
    if (unplaced.length === 0) return
    const reason = this.#reason(unplaced)
    await this.#direct.commit(unplaced)
    this.#wentStraight(unplaced, reason)
  }

  /**
   * Brings all that is held straight to SQL within `closeTimeoutMs`, and its final sums; leaves in
   * the cache what SQL did not take. Idempotent.
   */
  close(): Promise<CloseReport> {
    this.#closed = true
    this.#closing ??= this.#close()
    return this.#closing
  }

  /**
   * Tells SQL of the rows that were appended while all was being closed, until `timeout`. Rows that
   * come later are in no report.
   */
  async end(timeout: Promise<unknown>): Promise<void> {
    const sayAll = async (): Promise<void> => {
      while (this.#dropped > this.#droppedSaid) await this.#sayTotals()
    }
    await Promise.race([sayAll().catch(() => undefined), timeout])
    this.#ended = true
  }

  #encode(row: Row): number {
    const start = this.#openEnd + ROW_LENGTH_BYTES
    if (start >= this.#open.length) return -1
    const end = this.#parts.codec.encode(row, this.#open, start)
    if (end !== -1 && !(Number.isInteger(end) && end >= start && end <= this.#open.length)) {
      throw new RangeError(
        `encode() returned ${end}, not an end from ${start} to ${this.#open.length}, nor -1`,
      )
    }
    return end
  }

  #drop(rows: number): void {
    this.#dropped += rows
    if (this.#ended) {
      this.#parts.logger.warn(
        'ended',
        `wide-cache: rows of "${this.#parts.name}" were appended after close() and are in no ` +
          'report; append before close()',
      )
    } else {
      this.#parts.logger.warn(
        'dropped',
        'wide-cache: rows are dropped and counted (see ledger().dropped): the writer is ' +
          'closing, or holds maxOutboxBytes',
      )
    }
    this.#tickSoon()
  }

  #identity(): Buffer {
    if (!this.#id) {
      this.#id = this.#parts.environment.newId()
      this.#idHex = this.#id.toString('hex')
      // Early: before that no frame can be placed. The log is the caller's.
      this.#parts.ledger.enter().catch(() => undefined)
    }
    return this.#id
  }

  /** Takes a new id after a day of silence, when the ledger has all of the old one. */
  #renew(): void {
    const rested = this.#parts.environment.clock.elapsed() - this.#lastClosed > NEW_ID_AFTER_MS
    if (!this.#id || !rested || this.#outbox.size > 0 || this.#dropped > this.#droppedSaid) return
    // Only matters if its last frame was let go of and has been lost; no more can be done for it.
    this.#parts.ledger
      .enterTotals({ writer: this.#id, issued: this.#issued, dropped: this.#dropped })
      .catch(() => undefined)
    this.#id = undefined
    this.#sequence = this.#issued = this.#dropped = this.#droppedSaid = 0
  }

  /** Numbers the open frame, seals it and puts it into the outbox. */
  #closeFrame(): HeldFrame {
    this.#flushTimer?.cancel()
    this.#flushTimer = undefined
    this.#renew()
    const writer = this.#identity()
    const oldest = this.#outbox.oldest
    const header = {
      sequence: this.#sequence,
      issued: this.#issued,
      floor: oldest?.sequence ?? this.#sequence,
      floorIssued: oldest?.issued ?? this.#issued,
      dropped: this.#dropped,
      rowCount: this.#openRows,
    }
    const bytes = Buffer.from(this.#open.subarray(0, this.#openEnd))
    sealFrame(bytes, header, writer, this.#parts.stamp)
    const frame: HeldFrame = {
      writer: this.#idHex,
      ...header,
      bytes,
      closedAt: this.#parts.environment.clock.elapsed(),
      placed: false,
      placing: undefined,
    }
    this.#outbox.add(frame)
    this.#sequence++
    this.#issued += this.#openRows
    this.#droppedSaid = this.#dropped
    this.#openRows = 0
    this.#openEnd = HEADER_BYTES
    this.#lastClosed = frame.closedAt
    if (this.#outbox.size === 1) this.#confirmAt = frame.closedAt + CONFIRM_EVERY_MS
    this.#tickSoon()
    return frame
  }

  /** Places a frame off the caller's tick. */
  #placeSoon(frame: HeldFrame): void {
    this.#parts.environment.clock.after(0, () => void this.#place(frame))
  }

  #place(frame: HeldFrame): Promise<void> {
    // A flush may have been quicker than the timer of `append`.
    if (frame.placed) return Promise.resolve()
    frame.placing ??= this.#placer
      .place(frame, () => this.#outbox.has(frame), frame.closedAt + UNPLACED_MS)
      .then((placed) => {
        if (placed) this.#outbox.acknowledge(frame)
        frame.placing = undefined
      })
    return frame.placing
  }

  #tickSoon(): void {
    if (this.#closed) return
    this.#tickTimer ??= this.#parts.environment.clock.after(TICK_MS, () => void this.#tick())
  }

  /** Looks after the outbox, once a second while there is anything to do. */
  async #tick(): Promise<void> {
    const elapsed = this.#parts.environment.clock.elapsed()
    if (this.#outbox.size > 0 && elapsed >= this.#confirmAt) await this.#confirm()
    if (!this.#closed) await this.#commitDue(elapsed)
    this.#tickTimer = undefined
    if (this.#outbox.size > 0 || this.#dropped > this.#droppedSaid) this.#tickSoon()
  }

  /** Asks SQL how far this writer's frames are settled. Never rejects. */
  async #confirm(): Promise<void> {
    this.#confirmAt = this.#parts.environment.clock.elapsed() + CONFIRM_EVERY_MS
    const writer = this.#idHex
    try {
      const prefix = await this.#parts.ledger.prefixOf(writer)
      if (writer === this.#idHex) this.#outbox.confirm(prefix)
      await this.#parts.ledger.compare()
    } catch {
      // No answer: the next question, or the direct commit, will do.
    }
  }

  /**
   * Commits straight to SQL what the grid did not bring there in time, and says what was dropped.
   */
  async #commitDue(elapsed: number): Promise<void> {
    let due = this.#due(elapsed)
    if (due.some((frame) => frame.placed)) {
      // The collectors may have brought them there meanwhile.
      await this.#confirm()
      due = this.#due(elapsed)
    }
    if (due.length === 0 && this.#dropped === this.#droppedSaid) return
    const reason = this.#reason(due)
    await this.#direct.attempt(due, async () => {
      if (due.length > 0) this.#wentStraight(due, reason)
      if (this.#outbox.size === 0) await this.#sayTotals()
    })
  }

  #due(now: number): HeldFrame[] {
    const { confirmSeconds } = this.#parts
    const apart = this.#parts.apart()
    return [...this.#outbox.frames()].filter((frame) => {
      const age = now - frame.closedAt
      return (
        apart ||
        age >= confirmSeconds * 1000 ||
        (!frame.placed && (age >= UNPLACED_MS || this.#placer.down))
      )
    })
  }

  #wentStraight(frames: readonly HeldFrame[], { kind, why }: Reason): void {
    this.#straight.went(
      kind,
      why,
      frames.length,
      frames.reduce((rows, frame) => rows + frame.rowCount, 0),
    )
  }

  /** Why frames go straight to SQL. */
  #reason(due: readonly HeldFrame[]): Reason {
    if (this.#parts.apart() || !due.every((frame) => frame.placed)) {
      return { kind: 'unplaced', why: this.#placer.why }
    }
    const why =
      `they waited ${this.#parts.confirmSeconds} s in the cache and no collector ` +
      'brought them: the cache has lost them, or no collector runs'
    return { kind: 'unconfirmed', why }
  }

  async #sayTotals(): Promise<void> {
    const totals = this.totals()
    if (!totals) return
    await this.#parts.ledger.enterTotals({ ...totals, issued: this.#issued })
    this.#droppedSaid = totals.dropped
  }

  async #close(): Promise<CloseReport> {
    const { clock } = this.#parts.environment
    this.#cancelTimers()
    if (this.#openRows > 0) this.#closeFrame()
    const held = [...this.#outbox.frames()]
    const deadline = clock.elapsed() + this.#parts.closeTimeoutMs
    const timeout = sleep(clock, this.#parts.closeTimeoutMs).then(() => undefined)
    const placing = Promise.all(
      held.map((frame) => (frame.placed ? undefined : this.#place(frame))),
    )
    const quarantined = new Set<number>()
    while (clock.elapsed() < deadline) {
      if (await Promise.race([this.#settleAll(held, quarantined), timeout])) break
      await sleep(clock, CLOSE_RETRY_MS)
    }
    if (this.#outbox.size > 0) await Promise.race([placing, timeout])
    const report = this.#reportOf(held, quarantined)
    this.#straight.end()
    if (report.lost > 0) {
      this.#parts.logger.warn(
        'lost',
        `wide-cache: closed with ${report.lost} rows that neither cache nor database took: ` +
          'they are lost',
      )
    }
    return report
  }

  /**
   * Brings all that is held to SQL, and the final sums, and adds to `quarantined` which frames are
   * kept there. Returns whether SQL took all.
   */
  async #settleAll(held: readonly HeldFrame[], quarantined: Set<number>): Promise<boolean> {
    try {
      if (this.#outbox.size > 0) await this.#confirm()
      await this.#direct.commit([...this.#outbox.frames()])
      if (held.length > 0) {
        for (const sequence of await this.#parts.ledger.quarantinedOf(this.#idHex)) {
          quarantined.add(sequence)
        }
      }
      await this.#sayTotals()
      return true
    } catch (error) {
      this.#parts.logger.warn(
        'close',
        `wide-cache: closing, the database does not take what is held: ${messageOf(error)}`,
      )
      return false
    }
  }

  #reportOf(held: readonly HeldFrame[], quarantined: ReadonlySet<number>): CloseReport {
    const report = { committed: 0, quarantined: 0, inCache: 0, lost: 0 }
    for (const frame of held) {
      if (!this.#outbox.has(frame)) {
        report[quarantined.has(frame.sequence) ? 'quarantined' : 'committed'] += frame.rowCount
      }
      // A private cache goes with this process.
      else {
        report[frame.placed && this.#parts.cache.scope !== 'private' ? 'inCache' : 'lost'] +=
          frame.rowCount
      }
    }
    return report
  }

  #cancelTimers(): void {
    this.#flushTimer?.cancel()
    this.#tickTimer?.cancel()
    this.#flushTimer = this.#tickTimer = undefined
  }
}
