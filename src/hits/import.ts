/**
 * Adds to the counts of items what was counted before, from a list that is imported once: how far
 * it has come is written with each part of it. Hours and days are left without.
 */
import type { Database, Transaction } from '../database/database.js'
import { forUpdate } from '../database/dialect.js'
import { execute, raw } from '../database/sql.js'
import { table } from '../database/table.js'
import { COUNTS, readCounts } from './counts.js'

/** Hits of an item. */
export interface ImportedHits {
  readonly item: string
  readonly hits: number
}

/** The import of a list, as SQL knows it. */
export interface ImportState {
  /** Records of the list that are done. */
  readonly done: number
  /** Whether all of them are. */
  readonly isWhole: boolean
}

/** A list that is imported into the hits of `name`, under an id of the operator's. */
export interface ImportedList {
  readonly name: string
  readonly id: string
  /** SHA-256 of the file. */
  readonly digest: Buffer
}

const IMPORTS = table('hits_imports', ['name', 'id'], 'digest', 'records', 'ended')

/** Begins an import, or reads how far it has come. @throws Error for an id of another list */
export function beginImport(database: Database, list: ImportedList): Promise<ImportState> {
  return database.transaction(async (tx) => {
    await IMPORTS.upsert(tx, [[list.name, list.id, list.digest, 0, 0]])
    return stateOf(tx, list)
  })
}

/**
 * Adds the next part of a list: what lies between `from` and `to` of its records. Locks the import,
 * then the counts in the order of their items, as a commit of hits does.
 *
 * @throws Error if another process has added it; RangeError for a count past 2^53-1
 */
export async function importPart(
  tx: Transaction,
  list: ImportedList,
  part: readonly ImportedHits[],
  range: { readonly from: number; readonly to: number; readonly isLast: boolean },
): Promise<void> {
  const { name, id } = list
  const { done } = await stateOf(tx, list)
  if (done !== range.from) {
    throw new Error(`another process imports the same list under --id ${id}: let it end`)
  }
  const sums = new Map<string, number>()
  for (const { item, hits } of part) sums.set(item, (sums.get(item) ?? 0) + hits)
  const rows = [...sums].map(([item, hits]) => [name, Buffer.from(item), hits] as const)
  await COUNTS.upsert(
    tx,
    rows.sort((a, b) => a[1].compare(b[1])),
  )
  await readCounts(tx, name, [...sums.keys()])
  await execute(tx)`UPDATE hits_imports SET records = ${range.to}, ended = ${range.isLast ? 1 : 0}
    WHERE name = ${name} AND id = ${id}`
}

async function stateOf(tx: Transaction, { name, id, digest }: ImportedList): Promise<ImportState> {
  const [row] = (
    await execute(tx)`SELECT digest, records, ended FROM hits_imports
    WHERE name = ${name} AND id = ${id}${raw(forUpdate(tx.dialect))}`
  ).rows
  if (!row) throw new Error(`somebody has removed the row of the import "${id}" in hits_imports`)
  if (!digest.equals(row['digest'] as Buffer)) {
    throw new Error(`another file was imported under --id ${id}; give this one an id of its own`)
  }
  return { done: Number(row['records']), isWhole: row['ended'] === 1 }
}
