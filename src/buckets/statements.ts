/** Keys and values between their tables and the process. */
import { writeRows } from '../database/bulk.js'
import type { Queryable, SqlRow, SqlValue } from '../database/database.js'
import { insert } from '../database/dialect.js'

/** A key and a value on their way into a table. */
export interface Encoded {
  readonly hash: number
  readonly key: Buffer
  readonly value: Buffer
}

/** Inserts `rows`, whose values come in the order of `columns`. */
export async function insertEncoded<R extends Encoded>(
  on: Queryable,
  table: string,
  columns: readonly string[],
  rows: readonly R[],
  valuesOf: (row: R) => readonly SqlValue[],
): Promise<void> {
  await writeRows(on, rows.map(valuesOf), (count) => insert(table, columns, count))
}

/** A column of bytes. */
export function bytesOf(row: SqlRow, column: string): Buffer {
  const value = row[column]
  if (!Buffer.isBuffer(value)) throw new TypeError(`wide-cache: the column ${column} has no bytes`)
  return value
}
