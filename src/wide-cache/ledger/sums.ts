/**
 * Sums of the ledger as parts of other statements, so that all figures of a statement are of one
 * moment.
 */

/**
 * Rows of writers seen since a moment that are known not to be in their tables: those on their way,
 * and those quarantined, dropped or lost, if these have changed since then. Values: the moment, in
 * milliseconds since the Unix epoch; the name; the moment.
 */
export const MISSING_SINCE =
  'SELECT COALESCE(SUM(issued - committed - quarantined - lost + CASE ' +
  'WHEN gone_at >= ? OR gone <> quarantined + dropped + lost ' +
  'THEN quarantined + dropped + lost ELSE 0 END), 0) FROM wide_cache_writers ' +
  'WHERE name = ? AND last_seen >= ?'

/**
 * Sums of all rows of a name, as `ledgerReport` adds them up: `issued`, `committed`, `quarantined`,
 * `dropped`, `lost`. Values: the moment before which a writer not seen since has vanished, in
 * milliseconds since the Unix epoch; the name.
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
