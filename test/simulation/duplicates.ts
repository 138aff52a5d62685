import type { WideCacheProcess } from './process.js'
import type { FrameTruth } from './records.js'

/**
 * An independent count of rows that came to the ledger again: of frames brought to a committed
 * transaction that did not settle them there. What a process itself has settled out of a cell that
 * still stands, and reads there again, has not come again.
 */
export class DuplicateCount {
  rows = 0

  /**
   * A transaction has been committed, to which `frames` were brought and which settled the rows
   * `fresh`.
   */
  committed(
    process: WideCacheProcess,
    frames: readonly FrameTruth[],
    drained: boolean,
    fresh: ReadonlySet<number>,
  ): void {
    const seen = new Set<FrameTruth>()
    const again = new Set<FrameTruth>()
    for (const frame of frames) {
      const isFresh = fresh.has(frame.rows[0]!.id) && !seen.has(frame)
      seen.add(frame)
      if (isFresh) continue
      if (drained && process.readAgain.has(frame.key) && !again.has(frame)) again.add(frame)
      else this.rows += frame.rows.length
    }
  }
}
