import type { Database } from '../../database/database.js'
import type { Totals } from './ledger.js'

/**
 * What became of all rows, of all writers there ever were. `issued` is the sum of `committed`,
 * `quarantined`, `dropped`, `outstanding` and `lost`. Exact for writers that live or have closed in
 * order; for one that has vanished, up to its last frame seen. Totals never fall.
 */
export interface LedgerReport {
  /** Rows taken by `append`. */
  readonly issued: number
  /** Rows in their tables. */
  readonly committed: number
  /**
   * Rows that came to SQL again, delivered twice or after a commit without an answer, and were not
   * committed again.
   */
  readonly duplicate: number
  /** Rows that SQL refused, kept in wide_cache_quarantine. */
  readonly quarantined: number
  /** Rows refused by their writer: too large, no room left, or appended while it closed. */
  readonly dropped: number
  /** Rows on their way. */
  readonly outstanding: number
  /** Rows that cannot come any more. */
  readonly lost: number
}

/**
 * Adds up the ledger of a grid. A writer unseen for `vanishedSeconds` has vanished: what is missing
 * of it can come neither from its cells nor from itself. `own` makes the report exact for this
 * process's writer.
 */
export async function ledgerReport(
  database: Database,
  name: string,
  vanishedSeconds: number,
  own: () => Totals | undefined,
): Promise<LedgerReport> {
  const now = await database.now()
  const { rows } = await database.query(
    'SELECT writer, issued, committed, duplicate, quarantined, dropped, lost, last_seen ' +
      'FROM wide_cache_writers WHERE name = ?',
    [name],
  )
  const local = own()
  const sum = {
    issued: 0,
    committed: 0,
    duplicate: 0,
    quarantined: 0,
    dropped: 0,
    outstanding: 0,
    lost: 0,
  }
  let seen = false
  for (const row of rows) {
    const mine =
      local !== undefined && Buffer.isBuffer(row['writer']) && row['writer'].equals(local.writer)
    seen ||= mine
    const issued = mine ? Math.max(local.issued, Number(row['issued'])) : Number(row['issued'])
    const dropped = mine ? local.dropped : Number(row['dropped'])
    const missing =
      issued - Number(row['committed']) - Number(row['quarantined']) - Number(row['lost'])
    const vanished = !mine && now - Number(row['last_seen']) > vanishedSeconds * 1000
    sum.issued += issued + dropped
    sum.committed += Number(row['committed'])
    sum.duplicate += Number(row['duplicate'])
    sum.quarantined += Number(row['quarantined'])
    sum.dropped += dropped
    sum.lost += Number(row['lost']) + (vanished ? missing : 0)
    sum.outstanding += vanished ? 0 : missing
  }
  if (local && !seen) {
    sum.issued += local.issued + local.dropped
    sum.dropped += local.dropped
    sum.outstanding += local.issued
  }
  return sum
}
