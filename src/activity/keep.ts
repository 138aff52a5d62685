/**
 * The setting `keep`: a name keeps rows and sums, or sums alone. SQL says which, so that all who
 * commit do the same: the sites' processes, collectors on other machines, and the command that
 * commits what was in quarantine.
 */
import type { Queryable } from '../database/database.js'
import { type NameSettings, readNameSettings } from '../wide-cache/ledger/name-settings.js'

/** Data of visits that is kept in SQL: rows and sums, or sums alone. */
export type Keep = 'rows' | 'sums'

/** Part of the visits of a name that is kept from now on. */
export async function keptOf(queryable: Queryable, name: string): Promise<Keep> {
  return keptBy(await readNameSettings(queryable, name))
}

/** Reads that from recorded settings: rows, unless a process has given another value. */
export function keptBy(settings: NameSettings | undefined): Keep {
  return settings?.keep === 'sums' ? 'sums' : 'rows'
}
