import { type Database, DatabaseError } from '../../database/database.js'
import type { Totals } from './ledger.js'
import { type LedgerSums, outstandingIn, readWriterSums } from './sums.js'

/**
 * Sums of the rows of all writers there ever were. `issued` is the sum of `committed`,
 * `quarantined`, `dropped`, `outstanding`, `owed` and `lost`. The sums are exact for writers that
 * live or have closed in order. For a vanished writer they are exact up to its last frame seen.
 * They never fall, except `outstanding`, `owed`, and `quarantined`, which the command `wide-cache
 * quarantine` turns into `committed` or `lost`.
 */
export interface LedgerReport {
  /** Rows recorded, whether they were taken or dropped. */
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
  /** Rows on their way to SQL. */
  readonly outstanding: number
  /**
   * Rows missing of writers that have vanished. They still come if such a writer comes back; when
   * it is forgotten, after 30 days, they are lost.
   */
  readonly owed: number
  /**
   * Rows that never reached SQL, and that no process or cell holds any more; and rows dropped from
   * quarantine.
   */
  readonly lost: number
}

/**
 * Adds up the ledger of a name. `own` makes the report exact for this process's writer. Only reads:
 * makes no tables.
 *
 * @throws DatabaseError that says how to make the tables, if they are missing
 */
export async function ledgerReport(
  database: Database,
  name: string,
  own: () => Totals | undefined,
): Promise<LedgerReport> {
  const all = await writersOf(database, name)
  const local = own()
  const isOwn = ({ writer }: { readonly writer: Buffer }): boolean =>
    local !== undefined && writer.equals(local.writer)
  const writers: LedgerSums[] = all.filter((one) => !isOwn(one))
  if (local) {
    const known = all.find(isOwn) ?? NEW_WRITER
    const taken = Math.max(local.issued, known.issued - known.dropped)
    const { dropped } = local
    writers.push({ ...known, issued: taken + dropped, dropped, owed: 0 })
  }
  return addedUp(writers)
}

const NEW_WRITER: LedgerSums = {
  issued: 0,
  committed: 0,
  duplicate: 0,
  quarantined: 0,
  dropped: 0,
  lost: 0,
  owed: 0,
  writersSeen: 1,
}

async function writersOf(database: Database, name: string): ReturnType<typeof readWriterSums> {
  const now = await database.now()
  try {
    return await readWriterSums(database, name, now)
  } catch (error) {
    if (!(error instanceof DatabaseError && error.category === 'usage')) throw error
    if (error.code === 'DATABASE_CLOSED') throw error
    throw new DatabaseError(
      error.code,
      error.category,
      `${error.message} (while the ledger of "${name}" was read; if its tables are missing, make ` +
        'them with migrate() or the command "wide-cache migrate")',
      { cause: error, unsent: error.unsent },
    )
  }
}

function addedUp(writers: readonly LedgerSums[]): LedgerReport {
  const sum = (of: (writer: LedgerSums) => number): number =>
    writers.reduce((all, writer) => all + of(writer), 0)
  return {
    issued: sum(({ issued }) => issued),
    committed: sum(({ committed }) => committed),
    duplicate: sum(({ duplicate }) => duplicate),
    quarantined: sum(({ quarantined }) => quarantined),
    dropped: sum(({ dropped }) => dropped),
    outstanding: sum(outstandingIn),
    owed: sum(({ owed }) => owed),
    lost: sum(({ lost }) => lost),
  }
}
