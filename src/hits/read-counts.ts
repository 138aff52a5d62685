/** The counts as SQL has them, read in one statement each. */
import { hashOf } from '../buckets/encoding.js'
import type { Dialect, Queryable } from '../database/database.js'
import { numberIn, placeholders, type Statement } from '../database/dialect.js'
import { isItem } from './hit.js'

/** Items in a list of a statement. */
const ITEMS_A_LIST = 500

/** The number of an update that is queued. */
const queued = (dialect: Dialect): string => numberIn(dialect, 'map_value')

/** Items of one `top()`. */
export const MAX_TOP = 1_000

/**
 * The counts of `items`, in their order, with all that is committed: what the map has processed,
 * and what it has queued. `map`: its id.
 *
 * @throws RangeError for a count past 2^53-1
 */
export async function readCounts(
  queryable: Queryable,
  name: string,
  map: string,
  items: readonly string[],
): Promise<Map<string, number>> {
  // What is too long, or empty, has never been counted.
  const keys = [...new Set(items)].filter(isItem).map((item) => Buffer.from(item))
  const found = new Map<string, number>()
  if (keys.length > 0) {
    // One statement sees one moment: between two, a hit could be in both or in neither.
    const { rows } = await queryable.query(
      `SELECT item, hits FROM hits_counts WHERE name = ? AND ${isOneOf('item', keys.length)} ` +
        `UNION ALL SELECT map_key AS item, SUM(${queued(queryable.dialect)}) AS hits ` +
        'FROM collision_free_map_queue ' +
        `WHERE map = ? AND ${isOneOf('hash', keys.length)} GROUP BY map_key`,
      [name, ...keys, map, ...keys.map(hashOf)],
    )
    for (const { item, hits } of rows) {
      const text = String(item)
      found.set(text, (found.get(text) ?? 0) + Number(hits))
    }
  }
  // Text that is no Unicode has been stored as what it is in UTF-8.
  return new Map(
    items.map((item) => [item, checkedCount(found.get(Buffer.from(item).toString()) ?? 0)]),
  )
}

/** Selects what the map has processed and what it has queued of one item, as `hits`. */
export function itemCounts(dialect: Dialect, name: string, map: string, item: string): Statement {
  const key = Buffer.from(item)
  return {
    sql:
      "SELECT 'count' AS unit, 0 AS period, hits FROM hits_counts WHERE name = ? AND item = ? " +
      `UNION ALL SELECT 'queued', 0, SUM(${queued(dialect)}) ` +
      'FROM collision_free_map_queue WHERE map = ? AND hash = ? AND map_key = ?',
    values: [name, key, map, hashOf(key), key],
  }
}

/**
 * `column IN (…)`, in lists that are looked up: MariaDB turns a list of 1,000 into a join that may
 * read the whole table.
 */
function isOneOf(column: string, count: number): string {
  const lists: string[] = []
  for (let left = count; left > 0; left -= ITEMS_A_LIST) {
    lists.push(`${column} IN (${placeholders(Math.min(left, ITEMS_A_LIST))})`)
  }
  return `(${lists.join(' OR ')})`
}

/** The items with the most hits, the first with the most, without what is queued. */
export async function readTop(
  queryable: Queryable,
  name: string,
  n: number,
): Promise<[item: string, hits: number][]> {
  const { rows } = await queryable.query(
    'SELECT item, hits FROM hits_counts WHERE name = ? ORDER BY hits DESC, item DESC LIMIT ?',
    [name, n],
  )
  return rows.map(({ item, hits }) => [String(item), checkedCount(Number(hits))])
}

/** @throws RangeError for a count past 2^53-1 */
export function checkedCount(hits: number): number {
  if (!Number.isSafeInteger(hits)) throw new RangeError('wide-cache: a count past 2^53-1')
  return hits
}
