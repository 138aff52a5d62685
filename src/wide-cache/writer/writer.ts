import { isRefusal } from '../../support/options.js'
import type { Timer } from '../../support/clock.js'
import type { BurstLogger } from '../../support/logger.js'
import type { Codec } from '../../support/codec.js'
import { counted } from '../../support/printable.js'
import { sealFrame } from '../frame.js'
import type { GridSettings } from '../grid-options.js'
import type { Ledger, Totals } from '../ledger/ledger.js'
import type { FrameLedger } from '../ledger/settle.js'
import { type CloseReport, Closing } from './closing.js'
import { DirectCommit } from './direct-commit.js'
import { Numbering } from './numbering.js'
import { OpenFrame } from './open-frame.js'
import { type HeldFrame, Outbox } from './outbox.js'
import { Placer, type PlacerParts } from './placer.js'
import { UNPLACED_MS, Upkeep } from './upkeep.js'

/** Settings of a writer. */
interface WriterSettings<Row> extends Pick<
  GridSettings,
  | 'flushMs'
  | 'confirmSeconds'
  | 'drainAfterLayers'
  | 'layerSeconds'
  | 'cellTtlSeconds'
  | 'maxFrameBytes'
  | 'maxOutboxBytes'
  | 'closeTimeoutMs'
> {
  readonly name: string
  readonly codec: Codec<Row>
  readonly maxCommitRows: number
}

/** Parts of its wide cache that a writer uses. */
export interface WriterParts<Row> extends PlacerParts {
  readonly settings: WriterSettings<Row>
  readonly logger: BurstLogger
  readonly ledger: FrameLedger & Pick<Ledger<unknown>, 'enterTotals' | 'prefixOf' | 'quarantinedOf'>
  /** Starting value of the checksums of frames of its kind. */
  readonly stamp: number
  /** The place of its name among those of the grid. */
  readonly measure: number
}

/** Figures of one process's sending side: its work so far, and what it holds. */
export interface WriterFigures {
  /** Rows given to `append`. */
  readonly issued: number
  /** Rows of them that were dropped. */
  readonly dropped: number
  /** Milliseconds since the last one was dropped; `Infinity`: there was none. */
  readonly droppedAgoMs: number
  readonly outboxFrames: number
  readonly outboxBytes: number
  /** Age of the oldest frame that is not confirmed, in milliseconds; 0: there is none. */
  readonly unconfirmedMs: number
  /** Age of the oldest row that is not confirmed, in milliseconds, or more; 0: there is none. */
  readonly heldMs: number
  /** Direct commits. */
  readonly directCommits: number
  /** Their rows. */
  readonly directRows: number
}

/**
 * Rows with which a frame closes before `flushMs`, and its least age by then. A frame costs a round
 * trip whatever it holds, so on a busy site it gathers many; elsewhere a killed process loses few.
 */
export const ENOUGH_ROWS = 16
export const ENOUGH_MS = 50

/** Rows at which a frame is sent at once, so that SQL takes any frame in one statement. */
export const MAX_FRAME_ROWS = 1_000

/**
 * Sending side of one process. Rows gather in the open frame. Closed frames are numbered, placed in
 * the grid and held in the outbox until the ledger has them. The writer directly commits the frames
 * that the grid does not bring to the ledger in time.
 */
export class Writer<Row> {
  readonly #parts: WriterParts<Row>
  readonly #open: OpenFrame<Row>
  readonly #numbering: Numbering
  readonly #outbox: Outbox
  readonly #placer: Placer
  readonly #direct: DirectCommit
  readonly #upkeep: Upkeep
  #flushTimer: Timer | undefined
  /** Time of the oldest row of the open frame, in milliseconds since the Unix epoch. */
  #openedAt = 0
  /** Moment from which on it has its least age, by `clock.elapsed()`. */
  #enoughAt = 0
  #issued = 0
  #dropped = 0
  #droppedAt = -Infinity
  #closed = false
  #closing: Promise<CloseReport> | undefined
  /** Set at the end of `close()`: rows that come later are in no report. */
  #ended = false

  constructor(parts: WriterParts<Row>) {
    this.#parts = parts
    const { codec, maxFrameBytes, maxOutboxBytes } = parts.settings
    this.#open = new OpenFrame(codec, maxFrameBytes)
    this.#numbering = new Numbering(parts)
    this.#outbox = new Outbox(maxOutboxBytes)
    this.#placer = new Placer(parts)
    this.#direct = new DirectCommit(parts, this.#outbox)
    this.#upkeep = new Upkeep({
      ...parts,
      outbox: this.#outbox,
      placer: this.#placer,
      numbering: this.#numbering,
      direct: this.#direct,
      place: (frame) => this.#place(frame),
    })
  }

  /** Returns this writer's sums, the open frame included; `undefined` before its first row. */
  totals(): Totals | undefined {
    return this.#numbering.totals(this.#open.rowCount, this.#outbox.size > 0)
  }

  /** Whether it holds rows that the ledger has not confirmed. */
  get isHolding(): boolean {
    return this.#outbox.size > 0 || this.#open.rowCount > 0
  }

  /** Time of the oldest row that it holds, in milliseconds since the epoch; `Infinity`: none. */
  get heldFrom(): number {
    let from = this.#open.rowCount > 0 ? this.#openedAt : Infinity
    for (const { openedAt } of this.#outbox.frames()) from = Math.min(from, openedAt)
    return from
  }

  /** Whether a collector has brought a frame of it to SQL. */
  get isBrought(): boolean {
    return this.#upkeep.isBrought
  }

  /**
   * Whether all closed frames that it holds are in cells of the layers of their first rows: a
   * younger layer is drained later than figures have gone past them.
   */
  get isPlaced(): boolean {
    const layers = this.#parts.record.grid?.layers
    const isInTime = ({ layer, openedAt }: HeldFrame): boolean =>
      layers !== undefined && layer !== undefined && layer <= layers.at(openedAt)
    return [...this.#outbox.frames()].every(isInTime)
  }

  /** Figures of its work so far, under all its ids, and of what it holds. */
  get figures(): WriterFigures {
    const elapsed = this.#parts.environment.clock.elapsed()
    const oldest = this.#outbox.oldest
    const unconfirmedMs = oldest ? elapsed - oldest.closedAt : 0
    return {
      issued: this.#issued,
      dropped: this.#dropped,
      droppedAgoMs: elapsed - this.#droppedAt,
      outboxFrames: this.#outbox.size,
      outboxBytes: this.#outbox.bytes,
      unconfirmedMs,
      heldMs: this.isHolding ? unconfirmedMs + this.#parts.settings.flushMs : 0,
      directCommits: this.#direct.commits,
      directRows: this.#direct.rows,
    }
  }

  /**
   * Takes a row into the open frame. Never throws, never waits, no I/O on the caller's tick.
   * `recordedAt`: when it was recorded, in milliseconds since the Unix epoch, where it has waited
   * since; the frame then goes to the layer of that time, where it is not too old.
   */
  append(row: Row, recordedAt?: number): void {
    this.#issued++
    if (this.#closed || !this.#hasRoom()) return this.#turnAway()
    let fits: boolean
    try {
      fits = this.#open.append(row)
      if (!fits && this.#open.rowCount > 0) {
        this.#placeSoon(this.#closeFrame())
        if (!this.#hasRoom()) return this.#turnAway()
        fits = this.#open.append(row)
      }
    } catch (error) {
      this.#parts.logger.warn(
        'encode',
        `wide-cache: a row of "${this.#parts.settings.name}" is dropped and counted, because its ` +
          `codec cannot encode it; check the codec, or what is appended${reasonOf(error)}`,
      )
      return this.#drop()
    }
    if (!fits) {
      this.#parts.logger.warn(
        'row size',
        `wide-cache: a row of "${this.#parts.settings.name}" is dropped and counted, because it ` +
          `is over the ${this.#open.maxBytes} bytes of a frame; make it smaller, or raise ` +
          'maxFrameBytes',
      )
      return this.#drop()
    }
    this.#appended(this.#open.rowCount, recordedAt)
  }

  /**
   * Resolves when all rows taken so far are in the cache or in SQL. @throws what SQL says, when
   * neither took them.
   */
  async flush(): Promise<void> {
    if (this.#open.rowCount > 0) void this.#place(this.#closeFrame())
    const held = [...this.#outbox.frames()]
    await Promise.all(held.map((frame) => this.#place(frame)))
    const unplaced = held.filter((frame) => frame.layer === undefined && this.#outbox.has(frame))
    if (unplaced.length > 0) await this.#upkeep.commit(unplaced)
  }

  /** Learns from SQL which frames the ledger has. Never rejects. */
  async confirm(): Promise<void> {
    if (this.#outbox.size > 0) await this.#upkeep.confirm().catch(() => undefined)
  }

  /**
   * Commits all frames that it holds, and its final sums, within `closeTimeoutMs`, or twice that.
   * Leaves in the cache the frames that SQL did not take. Idempotent.
   */
  close(): Promise<CloseReport> {
    this.#closed = true
    this.#closing ??= this.#close()
    return this.#closing
  }

  /**
   * Reports to SQL the rows that were appended while the writer was closing, until `timeout`. Rows
   * that come later are in no report.
   */
  async end(timeout: Promise<unknown>): Promise<void> {
    const reportAll = async (): Promise<void> => {
      while (this.#numbering.hasUnreported) await this.#numbering.report()
    }
    await Promise.race([reportAll().catch(() => undefined), timeout])
    this.#ended = true
  }

  /** Tells whether the outbox has room for the open frame. */
  #hasRoom(): boolean {
    return this.#open.rowCount > 0 || this.#outbox.makeRoom(this.#open.maxBytes)
  }

  /** Sees to it that the open frame, which has `rows` by now, closes in time. */
  #appended(rows: number, recordedAt: number | undefined): void {
    const { environment, settings } = this.#parts
    const { clock } = environment
    if (rows === 1) {
      this.#openedAt = recordedAt ?? clock.now()
      this.#enoughAt = clock.elapsed() + ENOUGH_MS
      this.#closeAfter(settings.flushMs)
    } else if (recordedAt !== undefined && recordedAt < this.#openedAt) {
      this.#openedAt = recordedAt
    }
    if (rows === ENOUGH_ROWS && settings.flushMs > ENOUGH_MS) {
      this.#closeAfter(Math.max(0, this.#enoughAt - clock.elapsed()))
    }
    if (rows === MAX_FRAME_ROWS) this.#placeSoon(this.#closeFrame())
  }

  #closeAfter(ms: number): void {
    this.#flushTimer?.cancel()
    this.#flushTimer = this.#parts.environment.clock.after(ms, () => {
      this.#flushTimer = undefined
      void this.#place(this.#closeFrame())
    })
  }

  /** Drops a row that comes too late, or for which there is no room. */
  #turnAway(): void {
    const { logger, settings } = this.#parts
    this.#drop()
    if (this.#ended) {
      logger.warn(
        'ended',
        `wide-cache: rows of "${settings.name}" were appended after close() and are ` +
          'in no report; append before close()',
      )
    } else if (this.#closed) {
      logger.warn(
        'closing',
        `wide-cache: rows of "${settings.name}" were appended during close(), and are dropped ` +
          'and counted (see ledger().dropped); append before close()',
      )
    } else {
      logger.warn(
        'full',
        `wide-cache: rows of "${settings.name}" are dropped and counted (see ledger().dropped): ` +
          'this process holds maxOutboxBytes that neither cache nor database has confirmed',
      )
    }
  }

  #drop(): void {
    this.#dropped++
    this.#droppedAt = this.#parts.environment.clock.elapsed()
    this.#numbering.drop(1, this.#open.rowCount > 0 || this.#outbox.size > 0)
    this.#upkeep.tickSoon()
  }

  /** Numbers the open frame, seals it and puts it into the outbox. */
  #closeFrame(): HeldFrame {
    this.#flushTimer?.cancel()
    this.#flushTimer = undefined
    const header = this.#numbering.next(this.#open.rowCount, this.#openedAt, this.#outbox)
    const bytes = this.#open.take()
    sealFrame(bytes, header, this.#numbering.id, this.#parts.stamp)
    const frame: HeldFrame = {
      ...header,
      bytes,
      openedAt: this.#openedAt,
      closedAt: this.#parts.environment.clock.elapsed(),
      layer: undefined,
      placing: undefined,
    }
    this.#outbox.add(frame)
    this.#upkeep.begin(frame)
    return frame
  }

  /** Places a frame off the caller's tick. */
  #placeSoon(frame: HeldFrame): void {
    this.#parts.environment.clock.after(0, () => void this.#place(frame))
  }

  async #place(frame: HeldFrame): Promise<void> {
    // A flush may have been quicker than the timer of `append`.
    if (frame.layer === undefined) await (frame.placing ?? this.#placeAnew(frame))
  }

  /** Places a frame, even if it has been placed before. One that is old is tried once. */
  #placeAnew(frame: HeldFrame): Promise<boolean> {
    // An attempt that is under way does not count: what it stored may be gone already.
    if (frame.placing) return frame.placing.then(() => false)
    frame.placing = this.#placer
      .place(frame, () => this.#outbox.has(frame), frame.closedAt + UNPLACED_MS)
      .then((layer) => {
        if (layer !== undefined) this.#outbox.acknowledge(frame, layer)
        else if (this.#outbox.has(frame)) this.#upkeep.tickSoon()
        frame.placing = undefined
        return layer !== undefined
      })
    return frame.placing
  }

  async #close(): Promise<CloseReport> {
    this.#flushTimer?.cancel()
    this.#flushTimer = undefined
    this.#upkeep.stop()
    this.#placer.stopAsking()
    if (this.#open.rowCount > 0) this.#closeFrame()
    const closing = new Closing({
      ...this.#parts,
      outbox: this.#outbox,
      numbering: this.#numbering,
      direct: this.#direct,
      upkeep: this.#upkeep,
      place: (frame) => this.#placeAnew(frame),
    })
    const report = await closing.run()
    this.#direct.logEnd()
    if (report.lost > 0) {
      this.#parts.logger.warn(
        'lost',
        `wide-cache: "${this.#parts.settings.name}" closed with ` +
          `${counted(report.lost, 'row')} that neither a shared cache nor the database has ` +
          'taken: they are lost, unless a server stored them without an answer',
      )
    }
    return report
  }
}

/** Of JSON, which quotes nothing of the row. An error of the site's own codec might. */
function reasonOf(error: unknown): string {
  return isRefusal(error) ? ` (${error.message})` : ''
}
