/**
 * Tables of other programs that have the name of one of ours. `CREATE TABLE IF NOT EXISTS` would
 * take them for ours, and every commit would fail for ever.
 */
import { DatabaseError, type Queryable } from './database.js'
import { columnsOf } from './dialect.js'

const CREATE = /^CREATE TABLE IF NOT EXISTS (\w+) \(([^]*)\)[^)]*$/
/** Start of an item of a CREATE TABLE that is no column. */
const NO_COLUMN = /^(?:PRIMARY|UNIQUE|KEY|INDEX|CONSTRAINT|CHECK|FOREIGN)\b/i

/**
 * Looks at the tables that `statements` are to create. One that is there already must have exactly
 * the columns that it would get: it was made by a migration that a crash has cut short.
 *
 * @throws DatabaseError `DATABASE_FOREIGN_TABLE`
 */
export async function refuseForeignTables(
  queryable: Queryable,
  statements: readonly string[],
): Promise<void> {
  for (const statement of statements) {
    const [, table, body] = CREATE.exec(statement) ?? []
    if (table === undefined || body === undefined) continue
    const found = await columnsOf(queryable, table)
    if (found.length > 0 && found.sort().join() !== columnsIn(body).sort().join()) {
      throw notOurs(table, found)
    }
  }
}

/** The columns of a CREATE TABLE, between its outer parentheses. */
function columnsIn(body: string): string[] {
  let depth = 0
  let item = ''
  const items: string[] = []
  for (const character of `${body},`) {
    if (character === '(') depth++
    if (character === ')') depth--
    if (character === ',' && depth === 0) {
      items.push(item.replace(/--.*$/gm, '').trim())
      item = ''
    } else {
      item += character
    }
  }
  return items.filter((text) => !NO_COLUMN.test(text)).map((text) => /\w+/.exec(text)![0])
}

function notOurs(table: string, columns: readonly string[]): DatabaseError {
  const message =
    `The database has a table "${table}" that is not wide-cache's: its columns are ` +
    `${columns.join(', ')}. ` +
    'Nothing has been written. Give wide-cache a database (schema) of its own on the same ' +
    'server, and name it in the URL'
  return new DatabaseError('DATABASE_FOREIGN_TABLE', 'usage', message)
}
