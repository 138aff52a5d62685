/** Statements of many rows, each of a bounded size: plain multi-row INSERTs, and no packet too large for a server. */
import type { Queryable, SqlRow, SqlValue } from '../database/database.js'
import { deleteByIds, insert } from '../database/dialect.js'

export const ROWS_A_STATEMENT = 500
const BYTES_A_STATEMENT = 512 * 1024
/** What a row has beside its key and value. */
const ROW_BYTES = 100

/** A key and a value on their way into a table. */
export interface Encoded {
  readonly hash: number
  readonly key: Buffer
  readonly value: Buffer
}

/** Cuts rows into portions that one statement takes. */
export function* portions<R extends { readonly key: Buffer; readonly value?: Buffer | undefined }>(rows: readonly R[]): Generator<R[]> {
  let portion: R[] = []
  let bytes = 0
  for (const row of rows) {
    const size = ROW_BYTES + row.key.length + (row.value?.length ?? 0)
    if (portion.length === ROWS_A_STATEMENT || (portion.length > 0 && bytes + size > BYTES_A_STATEMENT)) {
      yield portion
      portion = []
      bytes = 0
    }
    portion.push(row)
    bytes += size
  }
  if (portion.length > 0) yield portion
}

/** Plain multi-row INSERTs of `rows`, whose values come in the order of `columns`. */
export async function insertEncoded<R extends Encoded>(
  on: Pick<Queryable, 'query'>, table: string, columns: readonly string[], rows: readonly R[], valuesOf: (row: R) => readonly SqlValue[],
): Promise<void> {
  for (const portion of portions(rows)) await on.query(insert(table, columns, portion.length), portion.flatMap(valuesOf))
}

/** Deletes exactly these rows. */
export async function deleteRows(on: Pick<Queryable, 'dialect' | 'query'>, table: string, ids: readonly number[]): Promise<void> {
  for (let from = 0; from < ids.length; from += ROWS_A_STATEMENT) {
    await on.query(deleteByIds(on.dialect, table), [JSON.stringify(ids.slice(from, from + ROWS_A_STATEMENT))])
  }
}

/** A column of bytes. */
export function bytesOf(row: SqlRow, column: string): Buffer {
  const value = row[column]
  if (!Buffer.isBuffer(value)) throw new TypeError(`wide-cache: the column ${column} has no bytes`)
  return value
}
