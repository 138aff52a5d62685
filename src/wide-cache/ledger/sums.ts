/**
 * Sums of the ledger as parts of other statements, so that all figures of a statement are of one
 * moment.
 */
import type { SqlRow } from '../../database/database.js'

/** Rows that a writer has taken, and that are neither settled nor lost. */
const MISSING = 'issued - committed - quarantined - lost'

/**
 * Rows of writers seen since a moment that are known not to be in their tables: those on their way,
 * and those quarantined, dropped or lost, if these have changed since then. Values: the moment, in
 * milliseconds since the Unix epoch; the name; the moment.
 */
export const MISSING_SINCE =
  `SELECT COALESCE(SUM(${MISSING} + CASE ` +
  'WHEN gone_at >= ? OR gone <> quarantined + dropped + lost ' +
  'THEN quarantined + dropped + lost ELSE 0 END), 0) FROM wide_cache_writers ' +
  'WHERE name = ? AND last_seen >= ?'

/**
 * Tells whether a writer has vanished: SQL has not heard of it for the longest `vanishedSeconds` of
 * the name's processes, so all processes and commands say the same. None has while the name has
 * no settings. One that was seen while the clock was ahead counts as seen for as long before that
 * moment. While the database's clock is behind the safe clock, writers are seen by the latter.
 */
const VANISHED =
  'ABS(CASE WHEN safe_at > clock_at THEN safe_at ELSE clock_at END - last_seen) ' +
  '> 1000 * vanished_seconds'

/**
 * Sums of writers: `issued`, `committed`, `duplicate`, `quarantined`, `dropped`, `lost` for good,
 * `owed` by writers that have vanished, and `writers_seen`, the number of the others.
 */
const SUMS =
  'COALESCE(SUM(issued + dropped), 0) AS issued, COALESCE(SUM(committed), 0) AS committed, ' +
  'COALESCE(SUM(duplicate), 0) AS duplicate, COALESCE(SUM(quarantined), 0) AS quarantined, ' +
  'COALESCE(SUM(dropped), 0) AS dropped, COALESCE(SUM(lost), 0) AS lost, ' +
  `COALESCE(SUM(CASE WHEN ${VANISHED} THEN ${MISSING} ELSE 0 END), 0) AS owed, ` +
  `COALESCE(SUM(CASE WHEN ${VANISHED} THEN 0 ELSE 1 END), 0) AS writers_seen ` +
  'FROM (SELECT ? AS clock_at) AS c CROSS JOIN wide_cache_writers AS w ' +
  'LEFT JOIN wide_cache_names AS n ON n.name = w.name WHERE w.name = ?'

/** {@link SUMS} of all writers of a name. Values: the database's clock; the name. */
export const LEDGER_SUMS = `SELECT ${SUMS}`

/** {@link SUMS} of each writer of a name. Values: the database's clock; the name. */
export const WRITER_SUMS = `SELECT writer, ${SUMS} GROUP BY writer`

/** Rows of one writer, or of all of a name. */
export interface LedgerSums {
  /** Rows taken or refused by `append`. Never falls. */
  readonly issued: number
  /** Rows in their tables. Never falls. */
  readonly committed: number
  /** Rows that reached SQL again and were rejected. Never falls. */
  readonly duplicate: number
  /** Rows that SQL refused, now. */
  readonly quarantined: number
  /** Rows refused by their writers. Never falls. */
  readonly dropped: number
  /** Rows that never reached SQL and that no process or cell holds. Never falls. */
  readonly lost: number
  /** Rows missing of writers that have vanished: lost, unless such a writer comes back. */
  readonly owed: number
  /** Writers that have not vanished, now. */
  readonly writersSeen: number
}

export function sumsIn(row: SqlRow): LedgerSums {
  return {
    issued: Number(row['issued']),
    committed: Number(row['committed']),
    duplicate: Number(row['duplicate']),
    quarantined: Number(row['quarantined']),
    dropped: Number(row['dropped']),
    lost: Number(row['lost']),
    owed: Number(row['owed']),
    writersSeen: Number(row['writers_seen']),
  }
}

/** Rows on their way. */
export function outstandingIn(sums: Omit<LedgerSums, 'duplicate' | 'writersSeen'>): number {
  const { issued, committed, quarantined, dropped, lost, owed } = sums
  return issued - committed - quarantined - dropped - lost - owed
}

/** Rows of a name that are in their tables. Value: the name. */
export const COMMITTED_SUM =
  'SELECT COALESCE(SUM(committed), 0) AS committed FROM wide_cache_writers WHERE name = ?'
