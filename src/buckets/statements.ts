/**
 * Statements of many rows, each of a bounded size: plain multi-row INSERTs, and no packet too large
 * for a server.
 */
import { writeRows } from '../database/bulk.js'
import type { Queryable, SqlRow, SqlValue } from '../database/database.js'
import { deleteByIds, insert } from '../database/dialect.js'

/** Ids, or hashes, in a list of a statement. */
export const IDS_A_STATEMENT = 500

/** A key and a value on their way into a table. */
export interface Encoded {
  readonly hash: number
  readonly key: Buffer
  readonly value: Buffer
}

/** Plain multi-row INSERTs of `rows`, whose values come in the order of `columns`. */
export async function insertEncoded<R extends Encoded>(
  on: Queryable,
  table: string,
  columns: readonly string[],
  rows: readonly R[],
  valuesOf: (row: R) => readonly SqlValue[],
): Promise<void> {
  await writeRows(on, rows.map(valuesOf), (count) => insert(table, columns, count))
}

/** Deletes exactly these rows. */
export async function deleteRows(
  on: Pick<Queryable, 'dialect' | 'query'>,
  table: string,
  ids: readonly number[],
): Promise<void> {
  for (let from = 0; from < ids.length; from += IDS_A_STATEMENT) {
    await on.query(deleteByIds(on.dialect, table), [
      JSON.stringify(ids.slice(from, from + IDS_A_STATEMENT)),
    ])
  }
}

/** A column of bytes. */
export function bytesOf(row: SqlRow, column: string): Buffer {
  const value = row[column]
  if (!Buffer.isBuffer(value)) throw new TypeError(`wide-cache: the column ${column} has no bytes`)
  return value
}
