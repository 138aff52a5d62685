/**
 * A table for the code that writes to it: its name, its columns in the order of a row's values, and
 * the change of each column if the key exists already. A table that is written in several ways has
 * a value for each of them.
 */
import { statementsOf } from './bulk.js'
import type { Database, Dialect, Queryable, SqlValue } from './database.js'
import {
  forEachDialect,
  insertRows,
  type Merge,
  onDuplicateKey,
  type RowsSql,
  type Statement,
} from './dialect.js'
import { sourceOf } from './source.js'

/**
 * A column beside the key. One without a {@link Merge} keeps its value where the key exists.
 */
export type Column = string | readonly [name: string, merge: Merge]

/** A row of a {@link Table}. */
export type RowOf<T> = T extends Table<infer Row> ? Row : never

/** A value for each column. */
type ValuesOf<C extends readonly unknown[]> = { readonly [I in keyof C]: SqlValue }

/** Rows of a statement, unless the caller wants more: more is hardly faster. */
const ROWS_A_STATEMENT = 500

/**
 * @param key the columns of a unique key; of a table that is only inserted into, its first columns
 * @example
 * const HOURS = table('hits_hours', ['name', 'item', 'hour'], ['hits', 'add'])
 * await HOURS.upsert(tx, [['videos', item, 495_000, 3]])
 */
export function table<
  const K extends readonly [string, ...string[]],
  const C extends readonly Column[],
>(name: string, key: K, ...columns: C): Table<readonly [...ValuesOf<K>, ...ValuesOf<C>]> {
  return new Table(name, key, columns)
}

/** `Row`: one value for each column of the key, then one for each of the others. */
export class Table<in Row extends readonly SqlValue[]> {
  readonly name: string
  readonly columns: readonly string[]
  readonly #insert: Readonly<Record<Dialect, RowsSql>>
  readonly #upsert: Readonly<Record<Dialect, RowsSql>>
  /** The same for a MySQL that knows `VALUES … AS new`. */
  readonly #upsertByAlias: RowsSql

  constructor(name: string, key: readonly [string, ...string[]], columns: readonly Column[]) {
    this.name = name
    this.columns = [...key, ...columns.map((one) => (typeof one === 'string' ? one : one[0]))]
    const merges = columns.filter((column) => typeof column !== 'string')
    const sql = (tailOf: (dialect: Dialect) => string) =>
      forEachDialect((dialect) => insertRows(dialect, name, this.columns, tailOf(dialect)))
    this.#insert = sql(() => '')
    this.#upsert = sql((dialect) => onDuplicateKey(dialect, name, key, merges))
    const tail = onDuplicateKey('mysql', name, key, merges, true)
    this.#upsertByAlias = insertRows('mysql', name, this.columns, tail)
  }

  /** Inserts rows whose keys are new, by as many statements as they need, each sent once. */
  insert(on: Queryable, rows: Iterable<Row>): Promise<void> {
    return send(on, this.inserts(on, rows))
  }

  /**
   * Inserts rows, and merges those whose keys exist, by as many statements as they need, each sent
   * once.
   */
  upsert(on: Queryable, rows: Iterable<Row>): Promise<void> {
    return send(on, this.upserts(on, rows))
  }

  /** The statements of {@link insert}, each made when it is asked for. */
  inserts(on: Queryable, rows: Iterable<Row>, maxRows = ROWS_A_STATEMENT): Generator<Statement> {
    return statementsOf(rows, this.#insert[on.dialect], { maxBytes: on.maxStatementBytes, maxRows })
  }

  /** The statements of {@link upsert}, each made when it is asked for. */
  upserts(on: Queryable, rows: Iterable<Row>, maxRows = ROWS_A_STATEMENT): Generator<Statement> {
    const limits = { maxBytes: on.maxStatementBytes, maxRows }
    const source: (Database & { readonly knowsRowAlias?: boolean }) | undefined = sourceOf(on)
    const byAlias = source?.knowsRowAlias ?? false
    return statementsOf(rows, byAlias ? this.#upsertByAlias : this.#upsert[on.dialect], limits)
  }
}

async function send(on: Queryable, statements: Iterable<Statement>): Promise<void> {
  for (const { sql, values } of statements) await on.query(sql, values)
}
