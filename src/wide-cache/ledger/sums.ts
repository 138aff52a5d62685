/**
 * Sums of the ledger as parts of other statements, so that they are of one moment with what else
 * the statement reads.
 */

/**
 * Rows that a name's writers have recorded and that are not in their tables: on their way, in
 * quarantine, dropped or lost. Of writers seen since a moment. Values: the name, the moment in
 * milliseconds since the Unix epoch.
 */
export const MISSING_SINCE =
  'SELECT COALESCE(SUM(issued - committed + dropped), 0) FROM wide_cache_writers ' +
  'WHERE name = ? AND last_seen >= ?'
