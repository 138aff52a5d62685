import { DatabaseError } from '../../database/database.js'
import type { BurstLogger } from '../../support/logger.js'
import type { Frame } from '../frame.js'
import { byWriter, frameBatches } from '../ledger/frame-batches.js'
import type { Raise } from '../ledger/grid-record.js'
import type { Ledger } from '../ledger/ledger.js'
import { type FrameLedger, keptInQuarantine, settle } from '../ledger/settle.js'
import type { LayersRead } from './cell-reader.js'
import type { DrainReport } from './drain-report.js'
import type { DrainedWriters } from './drained-writers.js'
import { SettledHere } from './settled-here.js'

export interface DrainCommitParts {
  readonly ledger: FrameLedger & Pick<Ledger<unknown>, 'name' | 'keepUnreadable' | 'raise'>
  readonly logger: BurstLogger
  readonly settings: { readonly maxCommitRows: number }
}

/** Commits what the cells of one grid hold, through the ledger. */
export class DrainCommit {
  readonly #parts: DrainCommitParts
  readonly #ledger: SettledHere
  readonly #writers: Pick<DrainedWriters, 'note'>

  constructor(parts: DrainCommitParts, writers: Pick<DrainedWriters, 'note'>) {
    this.#parts = parts
    this.#writers = writers
    this.#ledger = new SettledHere(parts.ledger)
  }

  /**
   * Commits what cells held, and raises the watermark. The watermark passes bytes that are no frame
   * only when SQL has them: below it, no drain would read them again.
   */
  async settle(
    { frames, unreadable }: LayersRead,
    report: DrainReport,
    raise: Raise | undefined,
  ): Promise<void> {
    if (unreadable.length === 0) return this.commit(frames, report, raise)
    await this.commit(frames, report)
    await this.#keepUnreadable(unreadable)
    await this.commit([], report, raise)
  }

  /**
   * Brings frames into the ledger, one batch per transaction. The watermark rises with the last
   * one. A batch that the locks of another transaction stop does not stop the batches behind it,
   * but then the watermark stays.
   */
  async commit(frames: readonly Frame[], report: DrainReport, raise?: Raise): Promise<void> {
    const { maxCommitRows } = this.#parts.settings
    const batches = frameBatches(byWriter(frames), maxCommitRows)
    if (batches.length === 0 && raise) return this.#parts.ledger.raise(raise)
    let locked: DatabaseError | undefined
    for (const [index, batch] of batches.entries()) {
      const last = index === batches.length - 1
      try {
        const settled = await settle(this.#ledger, batch, this.#parts.logger, {
          raise: last && !locked ? raise : undefined,
          settledHere: this.#ledger.keys,
        })
        this.#writers.note(settled.prefixes)
        report.committed += settled.committed
        report.duplicate += settled.duplicate
        report.quarantined += settled.quarantined
      } catch (error) {
        if (!(error instanceof DatabaseError && error.category === 'lock')) throw error
        locked = error
      }
    }
    if (locked) throw locked
  }

  /** Brings those frames into the ledger that this process has not brought there before. */
  commitUnsettled(frames: readonly Frame[], report: DrainReport): Promise<void> {
    return this.commit(this.#ledger.unsettled(frames), report)
  }

  /** Forgets frames whose cells are to be deleted. */
  forget(frames: readonly Frame[]): void {
    this.#ledger.forget(frames)
  }

  async #keepUnreadable(unreadable: readonly Buffer[]): Promise<void> {
    const { ledger, logger } = this.#parts
    await ledger.keepUnreadable(unreadable)
    logger.warn(
      'unreadable',
      `wide-cache: a cell of "${ledger.name}" held bytes that are no frame of its kind; ` +
        keptInQuarantine(ledger.name),
    )
  }
}
