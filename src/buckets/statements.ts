/** Keys and values between their tables and the process. */
import type { SqlRow } from '../database/database.js'

/** A key and a value on their way into a table. */
export interface Encoded {
  readonly hash: number
  readonly key: Buffer
  readonly value: Buffer
}

/** A column of bytes. */
export function bytesOf(row: SqlRow, column: string): Buffer {
  const value = row[column]
  if (!Buffer.isBuffer(value)) throw new TypeError(`wide-cache: the column ${column} has no bytes`)
  return value
}
