/**
 * Sums of the ledger as parts of other statements, so that all figures of a statement are of one
 * moment.
 */
import type { Queryable } from '../../database/database.js'
import { bytes, listOf, raw, select, selectOne, type Sql, sql } from '../../database/sql.js'

/** Rows that a writer has taken, and that are neither settled nor lost. */
const MISSING = 'issued - committed - quarantined - lost'

/**
 * Rows of writers seen since a moment, in milliseconds since the Unix epoch, that are known not to
 * be in their tables: those on their way, and those quarantined, dropped or lost, if these have
 * changed since then.
 */
export function missingSince(moment: number, name: string): Sql {
  return sql`SELECT COALESCE(SUM(${raw(MISSING)} + CASE
    WHEN gone_at >= ${moment} OR gone <> quarantined + dropped + lost
    THEN quarantined + dropped + lost ELSE 0 END), 0) FROM wide_cache_writers
    WHERE name = ${name} AND last_seen >= ${moment}`
}

/**
 * Tells whether a writer has vanished: SQL has not heard of it for the longest `vanishedSeconds` of
 * the name's processes, so all processes and commands say the same. None has while the name has
 * no settings. One that was seen while the clock was ahead counts as seen for as long before that
 * moment. While the database's clock is behind the safe clock, writers are seen by the latter.
 */
const VANISHED =
  'ABS(CASE WHEN safe_at > clock_at THEN safe_at ELSE clock_at END - last_seen) ' +
  '> 1000 * vanished_seconds'

const SUMS = {
  issued: [Number, 'COALESCE(SUM(issued + dropped), 0)'],
  committed: [Number, 'COALESCE(SUM(committed), 0)'],
  duplicate: [Number, 'COALESCE(SUM(duplicate), 0)'],
  quarantined: [Number, 'COALESCE(SUM(quarantined), 0)'],
  dropped: [Number, 'COALESCE(SUM(dropped), 0)'],
  lost: [Number, 'COALESCE(SUM(lost), 0)'],
  owed: [Number, `COALESCE(SUM(CASE WHEN ${VANISHED} THEN ${MISSING} ELSE 0 END), 0)`],
  writersSeen: [Number, `COALESCE(SUM(CASE WHEN ${VANISHED} THEN 0 ELSE 1 END), 0)`],
} as const

function ofName(name: string, now: number): Sql {
  return sql`FROM (SELECT ${now} AS clock_at) AS c CROSS JOIN wide_cache_writers AS w
    LEFT JOIN wide_cache_names AS n ON n.name = w.name WHERE w.name = ${name}`
}

/** Selects the sums of all writers of a name. @param now the database's clock */
export function ledgerSums(name: string, now: number): Sql {
  return sql`SELECT ${listOf(SUMS)} ${ofName(name, now)}`
}

/** Reads them. */
export async function readLedgerSums(
  on: Queryable,
  name: string,
  now: number,
): Promise<LedgerSums> {
  return (await selectOne(on, SUMS)`${ofName(name, now)}`)!
}

/** Reads the sums of each writer of a name. @param now the database's clock */
export function readWriterSums(
  on: Queryable,
  name: string,
  now: number,
): Promise<(LedgerSums & { readonly writer: Buffer })[]> {
  return select(on, { writer: bytes, ...SUMS })`${ofName(name, now)} GROUP BY writer`
}

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

/** Rows on their way. */
export function outstandingIn(sums: Omit<LedgerSums, 'duplicate' | 'writersSeen'>): number {
  const { issued, committed, quarantined, dropped, lost, owed } = sums
  return issued - committed - quarantined - dropped - lost - owed
}

/** Selects the rows of a name that are in their tables. */
export function committedSum(name: string): Sql {
  return sql`SELECT COALESCE(SUM(committed), 0) AS committed FROM wide_cache_writers
    WHERE name = ${name}`
}
