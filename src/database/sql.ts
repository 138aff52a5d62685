/**
 * Statements whose values stand where they belong, and typed rows for the code that reads, as
 * `table()` has them for the code that writes.
 */
import assert from 'node:assert/strict'
import type { Queryable, QueryResult, SqlValue } from './database.js'

/** A part of a statement: its SQL, and the values of its `?`, in their order. */
export type Sql = readonly [text: string, values: readonly SqlValue[]]

/** A value, a list of values for `IN (…)`, or a part of the statement. */
type Part = SqlValue | readonly SqlValue[] | Sql

/** A tag of a template whose `${…}` are the values and parts of a statement. */
type Tag<T> = (texts: TemplateStringsArray, ...parts: readonly Part[]) => T

/** Makes a part of a statement. */
export const sql: Tag<Sql> = (texts, ...parts) => {
  const values: SqlValue[] = []
  let text = ''
  for (const [index, own] of inOneLine(texts).entries()) {
    text += own
    const part = parts[index]
    if (part === undefined) continue
    const [inner, more] = partOf(part)
    text += inner
    for (const value of more) values.push(value)
  }
  return [text.trim(), values]
}

/** By the array of a template, which is the same each time that the template is used. */
const linesOf = new WeakMap<TemplateStringsArray, readonly string[]>()

/** Returns the texts of a template without its line breaks. */
function inOneLine(texts: TemplateStringsArray): readonly string[] {
  const known = linesOf.get(texts)
  if (known) return known
  const lines = texts.map((text) => text.replace(/\s*\n\s*/g, ' '))
  linesOf.set(texts, lines)
  return lines
}

/** Makes a part of SQL that has no values, such as the name of a table. */
export function raw(text: string): Sql {
  return [text, []]
}

/** Joins parts, as in `a = ? AND b = ?`. */
export function joined(parts: readonly Sql[], separator: string): Sql {
  return [parts.map(([text]) => text).join(separator), parts.flatMap(([, values]) => values)]
}

/** `?, ?, ?` */
export function placeholders(count: number): string {
  assert(count >= 1)
  return Array(count).fill('?').join(', ')
}

function partOf(part: Part): Sql {
  if (!isList(part)) return ['?', [part]]
  return isSql(part) ? part : [placeholders(part.length), part]
}

function isList(part: Part): part is Exclude<Part, SqlValue> {
  return Array.isArray(part)
}

function isSql(part: Exclude<Part, SqlValue>): part is Sql {
  return Array.isArray(part[1])
}

/**
 * Runs a statement.
 *
 * @example
 *   await execute(tx)`DELETE FROM wide_cache_grids WHERE name = ${name} AND used_at < ${before}`
 */
export function execute(on: Pick<Queryable, 'query'>): Tag<Promise<QueryResult>> {
  return (texts, ...parts) => on.query(...sql(texts, ...parts))
}

/** Returns what a value of SQL becomes, such as `Number`, which makes 0 of NULL. */
type Reader = (value: SqlValue | undefined) => unknown

/**
 * What is selected, by the names of the fields of a row. The column of `layerSeconds` is
 * `layer_seconds`. A field with another column, or an expression, says its SQL.
 */
export type Columns = Readonly<Record<string, Reader | readonly [read: Reader, sql: string | Sql]>>

type Read<C> = C extends Reader
  ? ReturnType<C>
  : C extends readonly [infer R, unknown]
    ? Read<R>
    : never

/** A row of the columns `C`. */
export type Selected<C extends Columns> = { readonly [Field in keyof C]: Read<C[Field]> }

/**
 * Selects rows. The template is the statement behind its columns.
 *
 * @example
 *   const columns = { id: bytes, layerSeconds: Number, usedAt: [numberOrNull, 'MAX(used_at)'] }
 *   const grids = await select(database, columns)`FROM wide_cache_grids WHERE name = ${name}`
 */
export function select<const C extends Columns>(
  on: Pick<Queryable, 'query'>,
  columns: C,
): Tag<Promise<Selected<C>[]>> {
  const all = columnsOf(columns)
  const list = listed(all)
  return async (...template) => {
    const { rows } = await execute(on)`SELECT ${list} ${sql(...template)}`
    return rows.map((row) => {
      const fields: Record<string, unknown> = {}
      for (const { field, name, read } of all) fields[field] = read(row[name])
      return fields as Selected<C>
    })
  }
}

/** Selects the first row; `undefined`: there is none. */
export function selectOne<const C extends Columns>(
  on: Pick<Queryable, 'query'>,
  columns: C,
): Tag<Promise<Selected<C> | undefined>> {
  const tag = select(on, columns)
  return async (...template) => (await tag(...template))[0]
}

/** Returns the list of columns of a SELECT. */
export function listOf(columns: Columns): Sql {
  return listed(columnsOf(columns))
}

function listed(columns: readonly { readonly sql: Sql }[]): Sql {
  return joined(
    columns.map((column) => column.sql),
    ', ',
  )
}

function columnsOf(columns: Columns) {
  return Object.entries(columns).map(([field, column]) => {
    const snake = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    const [read, given] = typeof column === 'function' ? [column, snake] : column
    const [text, values] = typeof given === 'string' ? raw(given) : given
    // A column of a table keeps its name, without that of the table.
    const name = /^(?:\w+\.)?([a-z]\w*)$/.exec(text)?.[1]
    const own: Sql = name ? raw(text) : [`${text} AS ${snake}`, values]
    return { field, read, name: name ?? snake, sql: own }
  })
}

/** A number, or `null`. */
export function numberOrNull(value: SqlValue | undefined): number | null {
  return value === null || value === undefined ? null : Number(value)
}

/** A text, or `null`. */
export function textOrNull(value: SqlValue | undefined): string | null {
  return value === null || value === undefined ? null : String(value)
}

/** Bytes, or `null`. */
export function bytesOrNull(value: SqlValue | undefined): Buffer | null {
  return Buffer.isBuffer(value) ? value : null
}

/** Bytes, such as an id. @throws TypeError */
export function bytes(value: SqlValue | undefined): Buffer {
  if (!Buffer.isBuffer(value)) throw new TypeError('wide-cache: a value of SQL that is not binary')
  return value
}
