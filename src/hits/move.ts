import type { Transaction } from '../database/database.js'
import { execute, raw, select, sql } from '../database/sql.js'
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
    await execute(tx)`DELETE FROM hits_counts WHERE name = ${name} AND item IN (${gone})`
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
  const ofItem = sql`FROM ${raw(table.name)} WHERE name = ${name} AND item = ${source}`
  const columns = { at: [Number, period], hits: Number } as const
  const periods = await select(tx, columns)`${ofItem} ORDER BY ${raw(period)}`
  for (const item of sorted) {
    if (item !== source) {
      const given = periods.map(({ at, hits }) => [name, item, at, hits] as const)
      await table.upsert(tx, given)
      continue
    }
    // Row by row: of a list MariaDB may read the whole table, and wait for rows of other items.
    for (const { at } of periods) await execute(tx)`DELETE ${ofItem} AND ${raw(period)} = ${at}`
  }
}

function countOf(counts: ReadonlyMap<string, number>, item: string): number {
  return counts.get(item) ?? 0
}
