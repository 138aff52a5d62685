/**
 * The setting `keep`: a name keeps rows and sums, or sums alone. SQL says which, so that all who
 * commit do the same: the sites' processes, collectors on other machines, and the command that
 * commits what was in quarantine.
 */
import type { Queryable, SqlValue } from '../database/database.js'
import { readNameSettings } from '../wide-cache/ledger/name-settings.js'

/** Data of visits that is kept in SQL: rows and sums, or sums alone. */
export type Keep = 'rows' | 'sums'

/** Part of the visits of a name that is kept from now on. */
export async function keptOf(queryable: Queryable, name: string): Promise<Keep> {
  return keptBy((await readNameSettings(queryable, name))?.keep)
}

/** Reads that from the recorded setting: rows, unless a process has given another value. */
export function keptBy(recorded: SqlValue | undefined): Keep {
  return recorded === 'sums' ? 'sums' : 'rows'
}
