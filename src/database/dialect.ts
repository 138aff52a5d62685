/**
 * Differences between MySQL, PostgreSQL and SQLite in the statements written elsewhere, in one
 * table, so that no other code asks which database it is. Names of tables and columns come from our
 * own code and are asserted to be plain.
 */
import assert from 'node:assert/strict'
import type { Dialect, Queryable, SqlValue } from './database.js'
import { placeholders, raw, type Sql, sql } from './sql.js'

/**
 * Change that an upsert makes to a column when the key exists. `greatest`, `least`, `add` and `or`
 * of NULL are NULL. `unlessBelow`: replaced, unless the new value of that other column is below the
 * stored one.
 */
export type Merge =
  | 'greatest'
  | 'least'
  | 'add'
  | 'or'
  | 'replace'
  | { readonly unlessBelow: string }

interface Differences {
  /** Rows are read faster as one array a column than as values in parentheses. */
  readonly asArrays: boolean
  readonly onDuplicate: (key: readonly string[]) => string
  readonly inserted: (column: string) => string
  readonly forUpdate: string
  readonly skipLocked: string
  readonly deleteByIds: (table: string) => string
  readonly updateByIds: (table: string, column: string) => string
  /** Hexadecimal digits of a text, as UTF-8, or of bytes. */
  readonly hex: (expression: string, of: 'text' | 'bytes') => string
  /** Bytes in the text of a statement. `undefined`: see {@link bytesLiteral}. */
  readonly bytesLiteral: ((bytes: Buffer) => string) | undefined
  /** A number below 2^25 made of a column of bytes, the same each time; 0 for no bytes. */
  readonly weight: (column: string) => string
  /** Join between the tables of an UPDATE of several; `undefined` where there is none. */
  readonly updateJoin: string | undefined
  readonly now: string
  readonly columnsOf: string
  readonly version: string
  /** Returns the product, read from the text that `version` selects. */
  readonly productOf: (version: string) => string
  /** Names and bytes of tables, with their indexes. `names`: one placeholder for each name. */
  readonly tableSizes: (names: string) => string
}

type Upsert = Pick<Differences, 'onDuplicate' | 'inserted'>

/** The upsert of a MySQL that knows the row alias. */
const ROW_ALIAS: Upsert = {
  onDuplicate: () => 'AS new ON DUPLICATE KEY UPDATE',
  inserted: (column) => `new.${column}`,
}

/** The upsert of PostgreSQL, which SQLite has taken over. */
const STANDARD = {
  onDuplicate: (key: readonly string[]) => `ON CONFLICT (${key.join(', ')}) DO UPDATE SET`,
  inserted: (column: string) => `excluded.${column}`,
}

const DIFFERENCES: Record<Dialect, Differences> = {
  mysql: {
    asArrays: false,
    onDuplicate: () => 'ON DUPLICATE KEY UPDATE',
    // MariaDB has only this one, and MySQL before 8.0.19. It is deprecated in MySQL.
    inserted: (column) => `VALUES(${column})`,
    forUpdate: ' FOR UPDATE',
    skipLocked: ' FOR UPDATE SKIP LOCKED',
    // Left to itself MariaDB likes to read the whole of a small table, and waits for every row that
    // others are inserting.
    deleteByIds: (table) =>
      `DELETE t FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS ids ` +
      `STRAIGHT_JOIN ${table} AS t FORCE INDEX (PRIMARY) ON t.id = ids.id`,
    updateByIds: (table, column) =>
      `UPDATE JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$[0]', value BIGINT PATH '$[1]')) ` +
      `AS given STRAIGHT_JOIN ${table} AS t FORCE INDEX (PRIMARY) ON t.id = given.id ` +
      `SET t.${column} = given.value`,
    hex: (expression) => `HEX(${expression})`,
    bytesLiteral: (bytes) => `X'${bytes.toString('hex')}'`,
    weight: (column) => `CRC32(${column}) % 16777213`,
    // The first table's row is locked first.
    updateJoin: ' STRAIGHT_JOIN ',
    // The time of the statement, not of the transaction. The session's time zone is UTC: elsewhere
    // NOW() is ambiguous for one hour a year.
    now: 'SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED) AS now',
    columnsOf:
      'SELECT column_name AS name FROM information_schema.columns ' +
      'WHERE table_schema = DATABASE() AND table_name = ?',
    version: 'SELECT VERSION() AS version',
    productOf: (version) => (/mariadb/i.test(version) ? 'MariaDB' : 'MySQL'),
    tableSizes: (names) =>
      'SELECT table_name AS name, COALESCE(data_length, 0) + COALESCE(index_length, 0) AS bytes ' +
      `FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN (${names})`,
  },
  postgres: {
    ...STANDARD,
    asArrays: true,
    forUpdate: ' FOR UPDATE',
    skipLocked: ' FOR UPDATE SKIP LOCKED',
    deleteByIds: (table) =>
      `DELETE FROM ${table} WHERE id IN (SELECT CAST(value AS BIGINT) FROM ` +
      'json_array_elements_text(CAST(? AS JSON)))',
    updateByIds: (table, column) =>
      `UPDATE ${table} SET ${column} = given.value FROM (SELECT CAST(value ->> 0 AS BIGINT) AS ` +
      'id, CAST(value ->> 1 AS BIGINT) AS value FROM json_array_elements(CAST(? AS JSON))) ' +
      `AS given WHERE ${table}.id = given.id`,
    hex: (expression, of) =>
      `encode(${of === 'bytes' ? expression : `convert_to(${expression}, 'UTF8')`}, 'hex')`,
    bytesLiteral: (bytes) => `decode('${bytes.toString('hex')}', 'hex')`,
    weight: (column) =>
      `CASE WHEN LENGTH(${column}) = 0 THEN 0 ELSE ` +
      `CAST(CAST('x' || SUBSTR(MD5(${column}), 1, 6) AS BIT(24)) AS INT) END`,
    updateJoin: undefined,
    // NOW() stands still in a transaction.
    now: 'SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT) AS now',
    columnsOf:
      'SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 ' +
      'AND NOT attisdropped',
    version: `SELECT current_setting('server_version') AS version`,
    productOf: () => 'PostgreSQL',
    tableSizes: (names) =>
      'SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class ' +
      `WHERE relname IN (${names}) AND oid = to_regclass(relname)`,
  },
  sqlite: {
    ...STANDARD,
    asArrays: false,
    // A transaction locks all from its start. The comments tell where others lock.
    forUpdate: ' /* FOR UPDATE */',
    skipLocked: ' /* FOR UPDATE SKIP LOCKED */',
    deleteByIds: (table) => `DELETE FROM ${table} WHERE id IN (SELECT value FROM json_each(?))`,
    updateByIds: (table, column) =>
      `UPDATE ${table} SET ${column} = given.value FROM (SELECT value ->> 0 AS id, ` +
      `value ->> 1 AS value FROM json_each(?)) AS given WHERE ${table}.id = given.id`,
    hex: (expression) => `HEX(${expression})`,
    bytesLiteral: undefined,
    weight: sqliteWeight,
    updateJoin: undefined,
    now: `SELECT CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER) AS now`,
    columnsOf: 'SELECT name FROM pragma_table_info(?)',
    version: 'SELECT sqlite_version() AS version',
    productOf: () => 'SQLite',
    tableSizes: (names) =>
      'SELECT tbl_name AS name, SUM(pgsize) AS bytes FROM sqlite_master ' +
      `JOIN dbstat ON dbstat.name = sqlite_master.name WHERE tbl_name IN (${names}) ` +
      'GROUP BY tbl_name',
  },
}

/**
 * SQLite has no checksum. This adds up the length of the value, and seven bytes each of its
 * beginning, middle and end as numbers, which SQLite reads as JSON5.
 */
function sqliteWeight(column: string): string {
  const numbers = ['1', `LENGTH(${column}) / 2 - 2`, '-7'].map(
    (place, index) =>
      `${2 * index + 1} * (('0x0' || HEX(SUBSTR(${column}, ${place}, 7))) ->> '$' % 16777213)`,
  )
  return `(104729 * LENGTH(${column}) + ${numbers.join(' + ')}) % 16777213`
}

/** SQLite's own bound; MySQL's comes from the packet. */
export const MAX_VALUES_PER_STATEMENT = 32_766

/** Makes something for each dialect. */
export function forEachDialect<T>(make: (dialect: Dialect) => T): Readonly<Record<Dialect, T>> {
  return { mysql: make('mysql'), postgres: make('postgres'), sqlite: make('sqlite') }
}

/** SQL of a statement with rows: the text before them, the values of a row, the text after. */
export interface RowsSql {
  readonly head: string
  readonly columns: number
  readonly tail: string
  /** The rows come as one array a column. @default false: as values in parentheses */
  readonly asArrays?: boolean
}

/** Inserts rows, which go between `head` and `tail`. */
export function insertRows(
  dialect: Dialect,
  table: string,
  columns: readonly string[],
  tail: string,
): RowsSql {
  const { asArrays } = DIFFERENCES[dialect]
  const head = `INSERT INTO ${plain(table)} (${columns.map(plain).join(', ')}) `
  return { head: asArrays ? head : `${head}VALUES `, columns: columns.length, tail, asArrays }
}

/**
 * The MySQL statement that reads rows from its client. Bytes are not converted: text is UTF-8
 * already.
 */
export function loadData(table: string, columns: readonly string[]): string {
  return (
    `LOAD DATA LOCAL INFILE 'rows' INTO TABLE ${plain(table)} CHARACTER SET binary ` +
    String.raw`FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n' ` +
    `(${columns.map(plain).join(', ')})`
  )
}

/**
 * Ends the insertion of rows that may exist already: the text after their values. Columns without a
 * merge stay as they are. The existing row is locked even where nothing changes.
 *
 * @param byAlias whether the rows have a name, `new`, which only MySQL knows
 */
export function onDuplicateKey(
  dialect: Dialect,
  table: string,
  key: readonly [string, ...string[]],
  merges: readonly (readonly [column: string, merge: Merge])[],
  byAlias = false,
): string {
  const differences = byAlias ? ROW_ALIAS : DIFFERENCES[dialect]
  const column = plain(key[0])
  const assignments = merges.map(([name, merge]) => assignment(differences, table, name, merge))
  return (
    ` ${differences.onDuplicate(key.map(plain))} ` +
    (assignments.join(', ') || `${column} = ${plain(table)}.${column}`)
  )
}

function assignment(differences: Upsert, table: string, column: string, merge: Merge): string {
  const inserted = differences.inserted(plain(column))
  const stored = `${plain(table)}.${plain(column)}`
  if (typeof merge === 'object') {
    const other = plain(merge.unlessBelow)
    // MySQL may have assigned the greatest to the other column before: that says the same.
    const isBelow = `${differences.inserted(other)} < ${plain(table)}.${other}`
    return `${plain(column)} = CASE WHEN ${isBelow} THEN ${stored} ELSE ${inserted} END`
  }
  const values: Record<typeof merge, string> = {
    // Not GREATEST, which ignores NULL in PostgreSQL and is called MAX in SQLite.
    greatest:
      `CASE WHEN ${stored} < ${inserted} THEN ${inserted} ` +
      `WHEN ${stored} >= ${inserted} THEN ${stored} END`,
    least:
      `CASE WHEN ${stored} > ${inserted} THEN ${inserted} ` +
      `WHEN ${stored} <= ${inserted} THEN ${stored} END`,
    add: `${stored} + ${inserted}`,
    or: `${stored} | ${inserted}`,
    replace: inserted,
  }
  return `${plain(column)} = ${values[merge]}`
}

/**
 * Checks that a name needs no quotes, which differ. Ours are lower case, and no reserved words.
 */
function plain(name: string): string {
  assert.match(name, /^[a-z_][a-z0-9_]*$/)
  return name
}

/**
 * Returns the clause by which a SELECT locks its rows until the transaction ends: ` FOR UPDATE`, or
 * nothing where all is locked.
 */
export function forUpdate(dialect: Dialect): string {
  return DIFFERENCES[dialect].forUpdate
}

/**
 * Returns the same clause, skipping rows that others have locked: ` FOR UPDATE SKIP LOCKED`, or
 * nothing.
 */
export function skipLocked(dialect: Dialect): string {
  return DIFFERENCES[dialect].skipLocked
}

/** Selects the hexadecimal digits of a text, as UTF-8, or of bytes. */
export function hex(dialect: Dialect, expression: string, of: 'text' | 'bytes'): string {
  return DIFFERENCES[dialect].hex(expression, of)
}

/**
 * Returns the function that writes bytes into the text of a statement, whatever the settings of the
 * session are. `undefined`: no transaction of a site can be joined. In SQLite a SAVEPOINT begins
 * one, so a missing one would not show.
 */
export function bytesLiteral(dialect: Dialect): ((bytes: Buffer) => string) | undefined {
  return DIFFERENCES[dialect].bytesLiteral
}

/** Selects a number below 2^25 made of a column of bytes; 0 for no bytes. */
export function weight(dialect: Dialect, column: string): string {
  return DIFFERENCES[dialect].weight(column)
}

/**
 * Deletes the rows of these ids, the table's primary key. Touches no other row, so it waits for no
 * other. Its one parameter is the ids as a JSON array.
 */
export function deleteByIds(dialect: Dialect, table: string): string {
  return DIFFERENCES[dialect].deleteByIds(plain(table))
}

/**
 * Sets a column of the rows of some ids, the table's primary key, each to a number of its own, and
 * touches no other row. Its one parameter is a JSON array of [id, number].
 */
export function updateByIds(dialect: Dialect, table: string, column: string): string {
  return DIFFERENCES[dialect].updateByIds(plain(table), plain(column))
}

/**
 * An update of one row: SQL whose columns no other table of the same statement has, and its values.
 */
export interface RowUpdate {
  readonly table: string
  readonly set: Sql
  readonly where: Sql
}

export interface Statement {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

export function update({ table, set, where }: RowUpdate): Sql {
  return sql`UPDATE ${raw(plain(table))} SET ${set} WHERE ${where}`
}

/**
 * Combines both updates in one statement. It changes both rows or, where one of the updates matches
 * none, neither (no affected rows). `undefined` where a statement changes one table only.
 */
export function updateBoth(dialect: Dialect, first: RowUpdate, second: RowUpdate): Sql | undefined {
  const { updateJoin } = DIFFERENCES[dialect]
  if (updateJoin === undefined) return undefined
  const tables = raw(plain(first.table) + updateJoin + plain(second.table))
  return sql`UPDATE ${tables} SET ${first.set}, ${second.set}
    WHERE ${first.where} AND ${second.where}`
}

/** The database's clock: milliseconds since the Unix epoch, of the moment the statement runs. */
export async function databaseNow(
  queryable: Pick<Queryable, 'dialect' | 'query'>,
): Promise<number> {
  const { rows } = await queryable.query(DIFFERENCES[queryable.dialect].now)
  const now = rows[0]?.['now']
  assert(typeof now === 'number' && Number.isSafeInteger(now))
  return now
}

/** The names of a table's columns; none if there is no such table. */
export async function columnsOf(
  queryable: Pick<Queryable, 'dialect' | 'query'>,
  table: string,
): Promise<string[]> {
  const { rows } = await queryable.query(DIFFERENCES[queryable.dialect].columnsOf, [table])
  return rows.map(({ name }) => String(name))
}

/**
 * Reads the sizes in bytes of those of `tables` that exist, with their indexes. MySQL knows them
 * roughly, and SQLite reads the whole file for them.
 */
export async function tableSizes(
  queryable: Pick<Queryable, 'dialect' | 'query'>,
  tables: readonly string[],
): Promise<Map<string, number>> {
  const sql = DIFFERENCES[queryable.dialect].tableSizes(placeholders(tables.length))
  const { rows } = await queryable.query(sql, tables)
  return new Map(rows.map(({ name, bytes }) => [String(name), Number(bytes)]))
}

/**
 * Reads the server's product, such as MariaDB, and its version as numbers, such as `[11, 8, 2]`.
 */
export async function productOf(
  queryable: Pick<Queryable, 'dialect' | 'query'>,
): Promise<{ product: string; version: number[] }> {
  const differences = DIFFERENCES[queryable.dialect]
  const { rows } = await queryable.query(differences.version)
  const text = String(rows[0]?.['version'])
  // Some clients show MariaDB as "5.5.5-10.11.6-MariaDB".
  const [numbers = ''] = /\d+(?:\.\d+)*/.exec(text.replace(/^5\.5\.5-/, '')) ?? []
  return { product: differences.productOf(text), version: numbers.split('.').map(Number) }
}
