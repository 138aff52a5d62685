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

/**
 * What became of all rows of a name, as `ledgerReport` adds it up: `issued`, `committed`,
 * `quarantined`, `dropped`, `lost`. Values: the moment before which a writer not seen since has
 * vanished, in milliseconds since the Unix epoch; the name.
 */
export const LEDGER_SUMS =
  'SELECT COALESCE(SUM(issued + dropped), 0) AS issued, ' +
  'COALESCE(SUM(committed), 0) AS committed, COALESCE(SUM(quarantined), 0) AS quarantined, ' +
  'COALESCE(SUM(dropped), 0) AS dropped, COALESCE(SUM(lost + CASE WHEN last_seen < ? ' +
  'THEN issued - committed - quarantined - lost ELSE 0 END), 0) AS lost ' +
  'FROM wide_cache_writers WHERE name = ?'

/** Rows of a name that are in their tables. Value: the name. */
export const COMMITTED_SUM =
  'SELECT COALESCE(SUM(committed), 0) AS committed FROM wide_cache_writers WHERE name = ?'
