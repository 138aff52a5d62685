/**
 * Most frames of one SQL transaction, so that one statement can enter what they say of their
 * writers.
 */
const BATCH_FRAMES = 2_000

/**
 * Cuts frames into batches of at most {@link BATCH_FRAMES} frames and `maxRows` rows (a frame with
 * more is alone).
 */
export function frameBatches<F extends { readonly rowCount: number }>(
  frames: Iterable<F>,
  maxRows: number,
): F[][] {
  const batches: F[][] = []
  let rows = 0
  for (const frame of frames) {
    const last = batches.at(-1)
    if (last && last.length < BATCH_FRAMES && rows + frame.rowCount <= maxRows) {
      last.push(frame)
      rows += frame.rowCount
    } else {
      batches.push([frame])
      rows = frame.rowCount
    }
  }
  return batches
}

/** Groups frames by their measures, in the order of these: each has rows of its own to lock. */
export function byMeasure<F extends { readonly measure: number }>(
  frames: Iterable<F>,
): [measure: number, frames: F[]][] {
  return [...grouped(frames, ({ measure }) => measure)].sort(([a], [b]) => a - b)
}

/**
 * Groups frames by writer, and sorts those of each writer by sequence number: cells come in any
 * order. So a transaction concerns few writers, and their prefixes rise without gaps. The ledger
 * would need a row for each gap.
 */
export function byWriter<F extends { readonly writer: string; readonly sequence: number }>(
  frames: Iterable<F>,
): F[] {
  const writers = [...grouped(frames, ({ writer }) => writer).values()]
  return writers.flatMap((own) => own.sort((a, b) => a.sequence - b.sequence))
}

function grouped<Key, F>(frames: Iterable<F>, keyOf: (frame: F) => Key): Map<Key, F[]> {
  const groups = new Map<Key, F[]>()
  for (const frame of frames) {
    const key = keyOf(frame)
    const others = groups.get(key)
    if (others) others.push(frame)
    else groups.set(key, [frame])
  }
  return groups
}
