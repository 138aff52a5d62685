import type { Queryable } from '../../database/database.js'
import { execute, sql } from '../../database/sql.js'

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
  const isNext = sql`written_at BETWEEN ${now - LONGEST_GAP_MS} AND ${now + LONGEST_GAP_MS}`
  await execute(tx)`UPDATE wide_cache_names
    SET direct_to = CASE WHEN ${isNext} AND writable_since <= ${now} - 1000 * direct_seconds
    THEN ${now} - 1000 * direct_seconds ELSE direct_to END,
    writable_since = CASE WHEN ${isNext} THEN writable_since ELSE ${now} END,
    written_at = ${now} WHERE grid_name = ${name}`
}
