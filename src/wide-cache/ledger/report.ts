import { type Database, DatabaseError, type SqlRow } from '../../database/database.js'
import type { Totals } from './ledger.js'

/**
 * Sums of the rows of all writers there ever were. `issued` is the sum of `committed`,
 * `quarantined`, `dropped`, `outstanding` and `lost`. The sums are exact for writers that live or
 * have closed in order. For a vanished writer they are exact up to its last frame seen. They never
 * fall, except `outstanding`, and `quarantined`, which the command `wide-cache quarantine` turns
 * into `committed` or `lost`.
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
  /** Rows that SQL refused, and that nobody has retried or dropped since. */
  readonly quarantined: number
  /** Rows refused by their writer: too large, no room left, or appended while it closed. */
  readonly dropped: number
  /** Rows on their way. */
  readonly outstanding: number
  /** Rows that cannot come any more. */
  readonly lost: number
}

/** Sums of a writer, as the ledger has them, or as this process has those of its own writer. */
interface WriterSums {
  readonly issued: number
  readonly committed: number
  readonly duplicate: number
  readonly quarantined: number
  readonly dropped: number
  readonly lost: number
  /** Whether its missing rows cannot come any more. */
  readonly vanished: boolean
}

/**
 * Adds up the ledger of a name. A writer unseen for `vanishedSeconds` has vanished: its missing
 * rows can come neither from its cells nor from itself. `own` makes the report exact for this
 * process's writer. Only reads: makes no tables.
 *
 * @throws DatabaseError that says how to make the tables, if they are missing
 */
export async function ledgerReport(
  database: Database,
  name: string,
  vanishedSeconds: number,
  own: () => Totals | undefined,
): Promise<LedgerReport> {
  const now = await database.now()
  const rows = await writerRows(database, name)
  const local = own()
  let seen = false
  const writers = rows.map((row) => {
    const sums = sumsOf(row, now - vanishedSeconds * 1000)
    const id = row['writer']
    if (!local || !Buffer.isBuffer(id) || !id.equals(local.writer)) return sums
    seen = true
    const issued = Math.max(local.issued, sums.issued)
    return { ...sums, issued, dropped: local.dropped, vanished: false }
  })
  if (local && !seen) writers.push({ ...NEW_WRITER, ...local })
  return addedUp(writers)
}

const NEW_WRITER = { committed: 0, duplicate: 0, quarantined: 0, lost: 0, vanished: false }

async function writerRows(database: Database, name: string): Promise<readonly SqlRow[]> {
  try {
    const { rows } = await database.query(
      'SELECT writer, issued, committed, duplicate, quarantined, dropped, lost, last_seen ' +
        'FROM wide_cache_writers WHERE name = ?',
      [name],
    )
    return rows
  } catch (error) {
    if (!(error instanceof DatabaseError && error.kind === 'usage')) throw error
    if (error.code === 'DATABASE_CLOSED') throw error
    throw new DatabaseError(
      error.code,
      error.kind,
      `${error.message} (while the ledger of "${name}" was read; if its tables are missing, make ` +
        'them with migrate() or the command "wide-cache migrate")',
      { cause: error, unsent: error.unsent },
    )
  }
}

function sumsOf(row: SqlRow, vanishedBefore: number): WriterSums {
  return {
    issued: Number(row['issued']),
    committed: Number(row['committed']),
    duplicate: Number(row['duplicate']),
    quarantined: Number(row['quarantined']),
    dropped: Number(row['dropped']),
    lost: Number(row['lost']),
    vanished: Number(row['last_seen']) < vanishedBefore,
  }
}

function addedUp(writers: readonly WriterSums[]): LedgerReport {
  const report = {
    issued: 0,
    committed: 0,
    duplicate: 0,
    quarantined: 0,
    dropped: 0,
    outstanding: 0,
    lost: 0,
  }
  for (const writer of writers) {
    const missing = writer.issued - writer.committed - writer.quarantined - writer.lost
    report.issued += writer.issued + writer.dropped
    report.committed += writer.committed
    report.duplicate += writer.duplicate
    report.quarantined += writer.quarantined
    report.dropped += writer.dropped
    report.lost += writer.lost + (writer.vanished ? missing : 0)
    report.outstanding += writer.vanished ? 0 : missing
  }
  return report
}
