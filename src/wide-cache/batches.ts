/**
 * Rows, and frames, of one SQL transaction: few enough for one statement of many columns, and for a process to
 * decode and sort them in a few milliseconds.
 */
const BATCH_ROWS = 2_000
const BATCH_FRAMES = 500

/** Cuts frames into batches of at most {@link BATCH_FRAMES} frames and about {@link BATCH_ROWS} rows. */
export function batchesOf<F extends { readonly rowCount: number }>(frames: Iterable<F>): F[][] {
  const batches: F[][] = []
  let rows = 0
  for (const frame of frames) {
    const last = batches.at(-1)
    if (last && last.length < BATCH_FRAMES && rows + frame.rowCount <= BATCH_ROWS) {
      last.push(frame)
      rows += frame.rowCount
    } else {
      batches.push([frame])
      rows = frame.rowCount
    }
  }
  return batches
}

/**
 * Frames writer by writer, each writer's in its own order; cells come in any. So a transaction concerns few
 * writers, and their prefixes rise without gaps, for each of which the ledger would need a row.
 */
export function byWriter<F extends { readonly writer: string; readonly sequence: number }>(frames: Iterable<F>): F[] {
  const writers = new Map<string, F[]>()
  for (const frame of frames) {
    const others = writers.get(frame.writer)
    if (others) others.push(frame)
    else writers.set(frame.writer, [frame])
  }
  return [...writers.values()].flatMap((own) => own.sort((a, b) => a.sequence - b.sequence))
}
