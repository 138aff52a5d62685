/** The counts of items, from their first hit on. */
import { listsOf } from '../database/bulk.js'
import type { Queryable } from '../database/database.js'
import { execute, joined, sql, type Sql } from '../database/sql.js'
import { table } from '../database/table.js'
import { isItem, MAX_ITEM_BYTES } from './hit.js'

export const COUNTS = table('hits_counts', ['name', 'item'], ['hits', 'add'])

const ITEM_IN_HEX_BYTES = 2 * MAX_ITEM_BYTES + 5

/** Items in a list of a statement. */
const ITEMS_A_LIST = 500

/** Items of one `top()`. */
export const MAX_TOP = 1_000

/** The counts of `items`, in their order. @throws RangeError for a count past 2^53-1 */
export async function readCounts(
  queryable: Queryable,
  name: string,
  items: readonly string[],
): Promise<Map<string, number>> {
  // What is too long, or empty, has never been counted.
  const keys = [...new Set(items)].filter(isItem).map((item) => Buffer.from(item))
  const found = new Map<string, number>()
  const lists = listsOf(keys, queryable, { idBytes: ITEM_IN_HEX_BYTES, longest: keys.length })
  for (const list of lists) {
    const { rows } = await execute(queryable)`SELECT item, hits FROM hits_counts
      WHERE name = ${name} AND (${isOneOf(list)})`
    for (const { item, hits } of rows) found.set(String(item), Number(hits))
  }
  // Text that is no Unicode has been stored as what it is in UTF-8.
  return new Map(
    items.map((item) => [item, checkedCount(found.get(Buffer.from(item).toString()) ?? 0)]),
  )
}

/**
 * Several lists that are looked up: MariaDB turns a list of 1,000 into a join that may read the
 * whole table.
 */
function isOneOf(items: readonly Buffer[]): Sql {
  const lists: Sql[] = []
  for (let at = 0; at < items.length; at += ITEMS_A_LIST) {
    lists.push(sql`item IN (${items.slice(at, at + ITEMS_A_LIST)})`)
  }
  return joined(lists, ' OR ')
}

/** The items with the most hits, the first with the most. */
export async function readTop(
  queryable: Queryable,
  name: string,
  n: number,
): Promise<[item: string, hits: number][]> {
  const { rows } = await execute(queryable)`SELECT item, hits FROM hits_counts
    WHERE name = ${name} ORDER BY hits DESC, item DESC LIMIT ${n}`
  return rows.map(({ item, hits }) => [String(item), checkedCount(Number(hits))])
}

/** @throws RangeError for a count past 2^53-1 */
function checkedCount(hits: number): number {
  if (!Number.isSafeInteger(hits)) throw new RangeError('wide-cache: a count past 2^53-1')
  return hits
}
