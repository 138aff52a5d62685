/**
 * Checks the values for the `?` of a statement. Drivers are generous (mysql2 expands objects and
 * arrays into SQL, libsql reads a missing value as NULL). Here each `?` takes one SqlValue, no more
 * and no fewer.
 */
import { types } from 'node:util'
import type { SqlValue } from './database.js'

/** Quoted text and comments of MySQL and SQLite, where a `?` is no placeholder. */
const NOT_CODE = /'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`|--[^\n]*|\/\*[\s\S]*?\*\//g
const QUOTED_OR_COMMENTED = /['"`$]|--|\/\*/

/**
 * The values, one for each `?` of `sql`.
 *
 * @param notCode matches where a `?` is no placeholder
 * @throws TypeError naming the place, never the value, if one is no SqlValue or their number is
 * wrong.
 */
export function checkedValues(
  sql: string,
  values: readonly SqlValue[],
  notCode = NOT_CODE,
): SqlValue[] {
  const wanted = placeholdersIn(sql, notCode)
  if (values.length !== wanted) {
    throw new TypeError(`The statement has ${wanted} placeholders and got ${values.length} values`)
  }
  return values.map((value: unknown, index) => {
    if (isSqlValue(value)) return value
    throw new TypeError(
      `Value ${index + 1} of the statement is ${typeName(value)}; allowed: string, finite ` +
        'number, bigint, Buffer, null',
    )
  })
}

function placeholdersIn(sql: string, notCode: RegExp): number {
  const code = QUOTED_OR_COMMENTED.test(sql) ? sql.replace(notCode, ' ') : sql
  let count = 0
  for (let at = code.indexOf('?'); at !== -1; at = code.indexOf('?', at + 1)) count++
  return count
}

function isSqlValue(value: unknown): value is SqlValue {
  if (typeof value === 'number') return Number.isFinite(value)
  return (
    value === null ||
    typeof value === 'string' ||
    typeof value === 'bigint' ||
    Buffer.isBuffer(value)
  )
}

function typeName(value: unknown): string {
  if (typeof value === 'number') return 'a number that is not finite'
  if (Array.isArray(value)) return 'an array'
  if (types.isDate(value)) return 'a Date'
  return typeof value === 'object' ? 'an object' : typeof value
}

/** An integer as `number` where that is exact, else as `bigint`. */
export function exactInteger(digits: string): number | bigint {
  const number = Number(digits)
  return Number.isSafeInteger(number) ? number : BigInt(digits)
}
