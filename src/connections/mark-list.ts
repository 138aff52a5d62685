/** Lists of marks, in the cache and in SQL. A mark is read as hexadecimal digits. */
import type { SqlRow } from '../database/database.js'

const MARK_BYTES = 16
const WHOLE_MARK = new RegExp(`.{${2 * MARK_BYTES}}`, 'g')

/**
 * Most marks in the cache's list before it begins anew. It does so earlier where the cache refuses
 * to let it grow.
 */
export const MAX_MARKS = 60

/** Returns the marks of the cache's list, in their order; those far behind its end are left out. */
export function marksIn(list: Buffer | undefined): string[] {
  const digits = list?.toString('hex', 0, 2 * MAX_MARKS * MARK_BYTES) ?? ''
  return digits.match(WHOLE_MARK) ?? []
}

/** Returns the marks that SQL has told of. */
export function marksOf(rows: readonly SqlRow[]): Set<string> {
  return new Set(rows.map(({ mark }) => (Buffer.isBuffer(mark) ? mark.toString('hex') : '')))
}
