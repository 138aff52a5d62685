import type { Queryable } from '../../database/database.js'

/**
 * Longest time from one direct commit to the next in which none has failed. A writer makes up for a
 * shorter outage within `directSeconds`.
 */
const LONGEST_GAP_MS = 8_000

/**
 * Enters, in the transaction of a direct commit, that SQL takes rows at `now`. Where no collector
 * comes, writers bring their rows to SQL within `directSeconds`, if it takes them: a database that
 * is read-only, full or locked answers readers all the same. The processes of a name prove it
 * together, in the rows of its measures.
 */
export async function proveWritable(tx: Queryable, name: string, now: number): Promise<void> {
  // MySQL sees in an assignment what those before it have set.
  const isNext = 'written_at BETWEEN ? AND ?'
  const gap = [now - LONGEST_GAP_MS, now + LONGEST_GAP_MS]
  await tx.query(
    'UPDATE wide_cache_names SET ' +
      `direct_to = CASE WHEN ${isNext} AND writable_since <= ? - 1000 * direct_seconds ` +
      'THEN ? - 1000 * direct_seconds ELSE direct_to END, ' +
      `writable_since = CASE WHEN ${isNext} THEN writable_since ELSE ? END, ` +
      'written_at = ? WHERE grid_name = ?',
    [...gap, now, now, ...gap, now, now, name],
  )
}
