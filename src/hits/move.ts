import type { Transaction } from '../database/database.js'
import { placeholders } from '../database/dialect.js'
import { COUNTS, readCounts } from './counts.js'
import { isItem } from './hit.js'
import { DAYS, HOURS } from './history.js'

/**
 * Moves all committed hits of `from` to `to`, or to nowhere. Returns how many. Hits that are
 * committed later stay where they are.
 *
 * It first locks the counts of both items, as a commit locks those of its items. So no other
 * transaction changes their hours and days meanwhile.
 */
export async function moveHits(
  tx: Transaction,
  name: string,
  from: string,
  to: string | undefined,
): Promise<number> {
  if (!isItem(from)) return 0
  const items = to === undefined ? [from] : [from, to]
  const keys = items.map((item) => Buffer.from(item))
  const [source, target] = keys as [Buffer, Buffer?]
  if (target?.equals(source)) return countOf(await readCounts(tx, name, [from]), from)
  // A count that is not there cannot be locked: so it is made.
  const sorted = keys.toSorted(Buffer.compare)
  await COUNTS.upsert(
    tx,
    sorted.map((key) => [name, key, 0]),
  )
  const counts = await readCounts(tx, name, items)
  const hits = countOf(counts, from)
  if (hits > 0) {
    for (const part of [HOURS, DAYS]) await movePeriods(tx, name, part, source, sorted)
    if (target) await COUNTS.upsert(tx, [[name, target, hits]])
  }
  const gone = hits > 0 ? [source] : keys.filter((_, i) => countOf(counts, items[i]!) === 0)
  if (gone.length > 0) {
    await tx.query(
      `DELETE FROM hits_counts WHERE name = ? AND item IN (${placeholders(gone.length)})`,
      [name, ...gone],
    )
  }
  return hits
}

/** `sorted`: both items. Locks by item, then period, too, because retention removes whole hours. */
async function movePeriods(
  tx: Transaction,
  name: string,
  { table, period }: typeof HOURS,
  source: Buffer,
  sorted: readonly Buffer[],
): Promise<void> {
  const { rows } = await tx.query(
    `SELECT ${period} AS period, hits FROM ${table.name} WHERE name = ? AND item = ? ` +
      `ORDER BY ${period}`,
    [name, source],
  )
  const periods = rows.map((row) => [Number(row['period']), Number(row['hits'])] as const)
  // Row by row: of a list MariaDB may read the whole table, and wait for rows of other items.
  const sql = `DELETE FROM ${table.name} WHERE name = ? AND item = ? AND ${period} = ?`
  for (const item of sorted) {
    if (item !== source) {
      const given = periods.map(([at, hits]) => [name, item, at, hits] as const)
      await table.upsert(tx, given)
    } else for (const [at] of periods) await tx.query(sql, [name, item, at])
  }
}

function countOf(counts: ReadonlyMap<string, number>, item: string): number {
  return counts.get(item) ?? 0
}
