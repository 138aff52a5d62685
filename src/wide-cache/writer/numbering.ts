import type { Database } from '../../database/database.js'
import type { Environment } from '../../support/environment.js'
import type { FrameHeader } from '../frame.js'
import type { Totals } from '../ledger/ledger.js'
import type { Outbox } from './outbox.js'

/**
 * Time without a frame after which a writer is at rest, and takes a new id for the next frame: the
 * ledger forgets a writer that it has not heard of for 30 days.
 */
const REST_MS = 24 * 3600 * 1000

/** Rest after which SQL may have forgotten a writer: no sums of it are entered any more. */
const FORGOTTEN_MS = 15 * REST_MS

interface NumberingParts {
  readonly environment: Environment
  readonly ledger: { enterTotals(name: string, totals: Totals): Promise<void> }
  readonly settings: { readonly name: string }
  readonly measure: number
  /** Its migration also enters the grid, and does nothing where that has been done. */
  readonly database: Pick<Database, 'migrate'>
}

/** A writer's id, the sequence numbers of its frames, and its sums. */
export class Numbering {
  readonly #parts: NumberingParts
  #id: Buffer | undefined
  #idHex = ''
  #sequence = 0
  #issued = 0
  #dropped = 0
  /** The sum of dropped rows that the ledger has, or a frame on its way to it. */
  #droppedReported = 0
  #lastNumbered = 0

  constructor(parts: NumberingParts) {
    this.#parts = parts
  }

  /** The id, as frames have it; empty before the first use of {@link id}. */
  get idHex(): string {
    return this.#idHex
  }

  /** The id. Takes one at its first use. */
  get id(): Buffer {
    if (!this.#id) {
      this.#id = this.#parts.environment.newId()
      this.#idHex = this.#id.toString('hex')
    }
    return this.#id
  }

  /** Whether rows were dropped that neither the ledger nor a frame on its way to it knows of. */
  get hasUnreported(): boolean {
    return this.#dropped > this.#droppedReported
  }

  /**
   * Returns the sums, with `openRows` rows of the open frame; `undefined` before the first row, and
   * at rest, when SQL knows them or has forgotten them.
   */
  totals(openRows: number, holdsFrames: boolean): Totals | undefined {
    if (openRows === 0) {
      if (!this.#id && this.#dropped === 0) return undefined
      if (this.#isAtRest(holdsFrames)) return undefined
    }
    return { writer: this.id, issued: this.#issued + openRows, dropped: this.#dropped }
  }

  drop(rows: number, holdsFrames: boolean): void {
    this.#renew(holdsFrames)
    this.#dropped += rows
  }

  /**
   * Returns the header of the next frame. `openedAt`: the time of its first row. `outbox`: the
   * frames that the writer holds.
   */
  next(rowCount: number, openedAt: number, outbox: Pick<Outbox, 'size' | 'floorFor'>): FrameHeader {
    this.#renew(outbox.size > 0)
    void this.id
    // Early: before that no frame can be placed. The log is the caller's.
    if (this.#sequence === 0) this.#parts.database.migrate().catch(() => undefined)
    const [sequence, issued] = [this.#sequence, this.#issued]
    const header = {
      writer: this.#idHex,
      sequence,
      issued,
      ...outbox.floorFor({ sequence, issued, openedAt }),
      dropped: this.#dropped,
      rowCount,
      measure: this.#parts.measure,
    }
    this.#sequence++
    this.#issued += rowCount
    this.#droppedReported = this.#dropped
    this.#lastNumbered = this.#parts.environment.clock.elapsed()
    return header
  }

  /** Enters the sums in the ledger, where no frame will carry them. @throws the error of SQL */
  async report(): Promise<void> {
    const totals = this.totals(0, false)
    if (!totals) return
    await this.#enter(totals)
    this.#droppedReported = totals.dropped
  }

  #enter(totals: Totals): Promise<void> {
    const { ledger, settings } = this.#parts
    return ledger.enterTotals(settings.name, totals)
  }

  get #restedMs(): number {
    return this.#parts.environment.clock.elapsed() - this.#lastNumbered
  }

  /** Tells whether no frame has come for a day, and the ledger has all earlier ones. */
  #isAtRest(holdsFrames: boolean): boolean {
    return this.#restedMs > REST_MS && !holdsFrames && !this.hasUnreported
  }

  /** Takes a new id if the writer is at rest. */
  #renew(holdsFrames: boolean): void {
    if (!this.#id || !this.#isAtRest(holdsFrames)) return
    if (this.#restedMs < FORGOTTEN_MS) {
      // Only matters if its last frame was let go of and has been lost; no more can be done for it.
      const totals = { writer: this.#id, issued: this.#issued, dropped: this.#dropped }
      this.#enter(totals).catch(() => undefined)
    }
    this.#id = undefined
    this.#sequence = this.#issued = this.#dropped = this.#droppedReported = 0
    this.#lastNumbered = this.#parts.environment.clock.elapsed()
  }
}
