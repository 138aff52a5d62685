/** Adds up the hits of an item in the map of hits, and keeps the table of counts. */
import type { Change } from '../collision-free-map/collision-free-map.js'
import type { Transaction } from '../database/database.js'
import { table } from '../database/table.js'

const COUNTS = table('hits_counts', ['name', 'item'], ['hits', 'replace'])

/** The new count of an item; none, where all its hits have been taken away. */
export function addUp(
  _item: string,
  current: number | undefined,
  updates: readonly number[],
): number | undefined {
  return updates.reduce((a, b) => a + b, current ?? 0) || undefined
}

/** Keeps the table of counts, within the transaction that changes them. */
export async function writeCounts(
  changes: readonly Change<string, number>[],
  tx: Transaction,
  name: string,
): Promise<void> {
  const kept = changes.flatMap(({ key, newValue }) =>
    newValue === undefined ? [] : [[name, Buffer.from(key), newValue] as const],
  )
  await COUNTS.upsert(tx, kept)
  for (const { key, newValue } of changes) {
    // Seldom: an item has been deleted or renamed.
    if (newValue === undefined) {
      await tx.query('DELETE FROM hits_counts WHERE name = ? AND item = ?', [
        name,
        Buffer.from(key),
      ])
    }
  }
}
