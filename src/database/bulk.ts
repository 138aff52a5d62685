/**
 * Many rows or ids, cut into statements that the database takes: none has more placeholders than a
 * statement may have, more rows than wanted, or more bytes than a packet. All bulk writes go
 * through here.
 */
import assert from 'node:assert/strict'
import { arraysStatement } from './column-arrays.js'
import type { Queryable, SqlValue } from './database.js'
import { deleteByIds, MAX_VALUES_PER_STATEMENT, type RowsSql, type Statement } from './dialect.js'
import { placeholders } from './sql.js'

export interface BulkLimits {
  /**
   * The most bytes of a statement, SQL text and values: `maxStatementBytes` of what it is sent to.
   */
  readonly maxBytes: number
  /** The most rows of a statement. @default as many as its values allow */
  readonly maxRows?: number | undefined
}

/** The most digits of a number as text, its sign, point and exponent, and of most bigints. */
const NUMBER_BYTES = 25
/** `X'…'` around the hex digits of a Buffer; quotes around text take one less. */
const QUOTE_BYTES = 3

/**
 * Cuts `rows` into statements with as many rows each as `limits` allow. A row that is over
 * `maxBytes` by itself gets a statement of its own: the database refuses it by name. Reads a row
 * only when it needs it and copies its values, so a source may reuse one array for all rows.
 *
 * Bytes are estimated from above, up to three times too high for plain text, since measuring text
 * costs more than an additional statement.
 */
export function* statementsOf(
  rows: Iterable<readonly SqlValue[]>,
  { head, columns, tail, asArrays = false }: RowsSql,
  { maxBytes, maxRows = Infinity }: BulkLimits,
): Generator<Statement, void, undefined> {
  const rowSql = `(${placeholders(columns)})`
  const emptyBytes = Buffer.byteLength(head) + Buffer.byteLength(tail)
  /** The last statement's text: most statements have the same number of rows. */
  let sql = ''
  let sqlCount = 0

  let values: SqlValue[] = []
  let count = 0
  let bytes = emptyBytes
  const statement = (): Statement => {
    if (asArrays) return arraysStatement(head, values, columns, tail)
    if (sqlCount !== count) {
      sql = head + Array(count).fill(rowSql).join(', ') + tail
      sqlCount = count
    }
    return { sql, values }
  }

  for (const row of rows) {
    assert(row.length === columns, `a row has ${row.length} values for ${columns} columns`)
    const rowBytes = rowSql.length + ', '.length + bytesOf(row)
    if (
      count > 0 &&
      (count >= maxRows ||
        values.length + row.length > MAX_VALUES_PER_STATEMENT ||
        bytes + rowBytes > maxBytes)
    ) {
      yield statement()
      values = []
      count = 0
      bytes = emptyBytes
    }
    for (let index = 0; index < row.length; index++) values.push(row[index] as SqlValue)
    count++
    bytes += rowBytes
  }
  if (count > 0) yield statement()
}

/**
 * Most ids in one list of a statement. MariaDB may make a join that reads all rows of a longer one.
 */
export const IDS_A_LIST = 500

/** Most bytes that a list has for an id, a hash or a number, and for the statement around it. */
const ID_BYTES = 100
const AROUND_BYTES = 1_000

/**
 * Cuts `ids`, or other keys, into lists that are short enough for one statement.
 *
 * @param on what the statements are sent to, if its packets may be small
 * @param options the most bytes that a key takes in a statement, and the most keys of a list
 */
export function* listsOf<T>(
  ids: readonly T[],
  on?: Pick<Queryable, 'maxStatementBytes'>,
  { idBytes = ID_BYTES, longest = IDS_A_LIST } = {},
): Generator<readonly T[], void, undefined> {
  const fitting = Math.floor(((on?.maxStatementBytes ?? Infinity) - AROUND_BYTES) / idBytes)
  const most = Math.max(1, Math.min(longest, fitting))
  for (let from = 0; from < ids.length; from += most) yield ids.slice(from, from + most)
}

/** Deletes exactly the rows of these ids, the table's primary key. */
export async function deleteRows(
  queryable: Pick<Queryable, 'dialect' | 'query'>,
  table: string,
  ids: readonly number[],
): Promise<void> {
  for (const list of listsOf(ids)) {
    await queryable.query(deleteByIds(queryable.dialect, table), [JSON.stringify(list)])
  }
}

/** Estimates the bytes of the values in MySQL's text protocol, never too low. */
function bytesOf(row: readonly SqlValue[]): number {
  let bytes = 0
  for (let index = 0; index < row.length; index++) {
    const value = row[index]
    // A UTF-16 unit has up to three bytes in UTF-8, and those that are escaped have two.
    if (typeof value === 'string') bytes += QUOTE_BYTES + 3 * value.length
    else if (Buffer.isBuffer(value)) bytes += QUOTE_BYTES + 2 * value.length
    else if (typeof value === 'bigint') bytes += bigintBytes(value)
    else bytes += NUMBER_BYTES
  }
  return bytes
}

/**
 * Estimates the bytes of a bigint. Columns only take those of 64 bits, which have up to 20 digits.
 */
function bigintBytes(value: bigint): number {
  return BigInt.asIntN(65, value) === value ? NUMBER_BYTES : value.toString().length
}
