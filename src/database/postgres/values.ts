/**
 * Values on their way to PostgreSQL and back. Each `?` of a statement becomes a numbered
 * placeholder with the type of its value: without one, `SELECT ?` is text, and `? + ?` is refused.
 */
import { DatabaseError, type SqlValue } from '../database.js'
import { checkedValues, exactInteger } from '../statement-values.js'

/** The most that the protocol counts. pg would send the rest of a greater number. */
const MAX_PARAMETERS = 65_535

/**
 * Quoted text and names, comments and dollar quotes, where a `?` is no placeholder. In quotes a
 * backslash stands for itself, except after an E.
 */
const NOT_CODE =
  /\bE'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\/\*[^]*?\*\/|\$(\w*)\$[^]*?\$\1\$/gi
const PLACEHOLDER = /\?/g

/** OIDs of types: https://www.postgresql.org/docs/current/catalog-pg-type.html */
const BOOL = 16
const BYTEA = 17
const INTEGERS = new Set([20, 1700])
const NUMBERS = new Set([21, 23, 26, 700, 701])

/** Reads every integer exactly, sums too; truth values as 1 and 0; all else as text. */
export const postgresTypes = {
  getTypeParser: (oid: number): ((text: string) => unknown) => {
    if (INTEGERS.has(oid)) {
      return (text) => (/^-?\d+$/.test(text) ? exactInteger(text) : text)
    }
    if (NUMBERS.has(oid)) return Number
    if (oid === BOOL) return (text) => (text === 't' ? 1 : 0)
    if (oid === BYTEA) return bytesIn
    return (text) => text
  },
}

/** Both formats of the setting bytea_output. */
function bytesIn(text: string): Buffer {
  if (text.startsWith(String.raw`\x`)) return Buffer.from(text.slice(2), 'hex')
  const escaped = /\\(\\|[0-7]{3})/g
  const byte = (_: string, code: string) =>
    code === '\\' ? code : String.fromCharCode(Number.parseInt(code, 8))
  return Buffer.from(text.replace(escaped, byte), 'latin1')
}

export interface Numbered {
  readonly text: string
  readonly values: (string | Buffer | null)[]
}

/**
 * The statement as PostgreSQL takes it.
 *
 * @throws TypeError if a value is no SqlValue, or their number is wrong
 * @throws DatabaseError of category `data` if there are more than a statement can have
 */
export function numbered(sql: string, given: readonly SqlValue[]): Numbered {
  const values = checkedValues(sql, given, NOT_CODE)
  if (values.length > MAX_PARAMETERS) {
    throw new DatabaseError(
      'DATABASE_TOO_MANY_VALUES',
      'data',
      `A statement has ${values.length} values; PostgreSQL takes up to ${MAX_PARAMETERS}: send ` +
        'fewer rows at once',
    )
  }
  let next = 0
  const number = (code: string) =>
    code.replace(PLACEHOLDER, () => `$${next + 1}${typeOf(values[next++]!)}`)
  let text = ''
  let from = 0
  for (const { 0: kept, index } of sql.matchAll(NOT_CODE)) {
    text += number(sql.slice(from, index)) + kept
    from = index + kept.length
  }
  return { text: text + number(sql.slice(from)), values: values.map(bound) }
}

function typeOf(value: SqlValue): string {
  if (value === null) return ''
  if (typeof value === 'string') return '::text'
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return '::bigint'
  return Buffer.isBuffer(value) ? '::bytea' : '::float8'
}

/** PostgreSQL takes no NUL in texts. */
function bound(value: SqlValue): string | Buffer | null {
  if (typeof value === 'string') return value.replaceAll('\0', '\ufffd')
  return value === null || Buffer.isBuffer(value) ? value : String(value)
}
