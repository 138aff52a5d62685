import { type Database, DatabaseError } from '../database/database.js'
import { execute } from '../database/sql.js'

/**
 * Pieces that one call removes: with a collecting run every 10 s this keeps up with 20,000 hits a
 * second.
 */
const PIECES_A_CALL = 40
const ROWS_A_PIECE = 5_000

/**
 * Removes the viewings of windows that began before `keepFrom`, oldest first, in small pieces, in
 * the order in which those who commit lock them. What is locked by others is left for the next
 * call. Resolves with whether there is more than one call removes.
 */
export async function removeOldHits(
  database: Database,
  name: string,
  keepFrom: number,
): Promise<boolean> {
  try {
    for (let piece = 0; piece < PIECES_A_CALL; piece++) {
      // A DELETE with a LIMIT is MySQL's only; so the first row to stay is asked for.
      const [next] = (
        await execute(database)`SELECT window_start, viewing FROM hits_viewings
        WHERE name = ${name} AND window_start < ${keepFrom} ORDER BY window_start, viewing
        LIMIT 1 OFFSET ${ROWS_A_PIECE}`
      ).rows
      const windowStart = next?.['window_start'] ?? keepFrom
      await execute(database)`DELETE FROM hits_viewings WHERE name = ${name}
        AND window_start < ${windowStart}`
      if (!next) return false
      await execute(database)`DELETE FROM hits_viewings WHERE name = ${name}
        AND window_start = ${windowStart} AND viewing < ${next['viewing'] ?? null}`
    }
    return true
  } catch (error) {
    if (error instanceof DatabaseError && error.category === 'lock') return false
    throw error
  }
}
