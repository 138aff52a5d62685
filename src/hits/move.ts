/**
 * Takes the hits of an item away, or gives them to another item, while others go on recording,
 * committing and processing.
 */
import { hash } from 'node:crypto'
import type { Transaction } from '../database/database.js'
import { VIEWINGS } from './commit.js'
import { type ItemPeriod, itemPeriods, moveHistory } from './history.js'
import { checkedCount, itemCounts } from './read-counts.js'

export interface MoveTarget {
  readonly name: string
  /** The id of the map. */
  readonly map: string
  /** Queues how many hits an item has more, or less, within the transaction. */
  readonly add: (
    counts: Iterable<readonly [item: string, hits: number]>,
    tx: Transaction,
  ) => Promise<void>
}

/**
 * The window of the rows of `hits_viewings` that stand for items: no hit is so old, and retention
 * removes it first.
 */
const ITEM_WINDOW = 0
const KEY_BYTES = 16

/**
 * Moves all committed hits of `from`, processed or queued, to `to`, or to nowhere. Returns how
 * many. Hits that are committed later stay where they are: the hits counted here are taken off by
 * one more update in the queue, and nothing that another transaction has written is changed.
 */
export async function moveHits(
  tx: Transaction,
  { name, map, add }: MoveTarget,
  from: string,
  to: string | undefined,
): Promise<number> {
  await lock(tx, name, from)
  const { hits, periods } = await readItem(tx, name, map, from)
  if (hits === 0 || from === to) return hits
  await add(
    to === undefined
      ? [[from, -hits]]
      : [
          [from, -hits],
          [to, hits],
        ],
    tx,
  )
  await moveHistory(tx, name, periods, from, to)
  return hits
}

/**
 * All hits of an item, and those of each hour and day. One statement sees one moment: between two,
 * hits that are committed would be in one figure and not in the other.
 */
async function readItem(
  tx: Transaction,
  name: string,
  map: string,
  item: string,
): Promise<{ hits: number; periods: ItemPeriod[] }> {
  const [counts, history] = [itemCounts(tx.dialect, name, map, item), itemPeriods(name, item)]
  const { rows } = await tx.query(`${counts.sql} UNION ALL ${history.sql}`, [
    ...counts.values,
    ...history.values,
  ])
  let hits = 0
  const periods: ItemPeriod[] = []
  for (const row of rows) {
    const { unit } = row
    if (unit !== 'hour' && unit !== 'day') hits += Number(row['hits'])
    else periods.push({ unit, period: Number(row['period']), hits: Number(row['hits']) })
  }
  return { hits: checkedCount(hits), periods }
}

/**
 * Two that moved the hits of one item at once would both find all of them. The second one waits
 * here for the first.
 */
async function lock(tx: Transaction, name: string, item: string): Promise<void> {
  const key = hash('sha256', item, 'buffer').subarray(0, KEY_BYTES)
  await VIEWINGS.upsert(tx, [[name, ITEM_WINDOW, key, 1]])
}
