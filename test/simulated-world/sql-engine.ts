import { readdirSync, readFileSync } from 'node:fs'
import Libsql from 'libsql'
import type { QueryResult, SqlRow, SqlValue } from '../../src/database/database.js'

const SCHEMAS = new URL('../../sql/sqlite/', import.meta.url)

/** The real SQL engine, with the real schema: made once a thread, emptied for each run. */
export class SqlEngine {
  readonly #sql = new Libsql(':memory:')
  readonly #statements = new Map<string, ReturnType<Libsql.Database['prepare']>>()

  readonly #part: string
  readonly #tables: readonly string[]

  private constructor(part: string) {
    this.#part = part
    for (const one of ['identity', ...part.split(' ')]) {
      const folder = new URL(`${one}/`, SCHEMAS)
      for (const file of readdirSync(folder).sort()) {
        this.#sql.exec(readFileSync(new URL(file, folder), 'utf8'))
      }
    }
    const { rows } = this.run("SELECT name FROM sqlite_master WHERE type = 'table'", [])
    this.#tables = rows.map(({ name }) => String(name))
  }

  /**
   * An empty one, with the tables of a folder of `sql/sqlite/`, or of several with spaces between,
   * and with an identity that is the same for the same `name`. To make one costs more than to empty
   * one that no run uses at present.
   */
  static take(part: string, name: string): SqlEngine {
    const engine = idle.get(part)?.pop() ?? new SqlEngine(part)
    // A run that has failed may have left a transaction open.
    if (engine.#sql.inTransaction) engine.#sql.exec('ROLLBACK')
    for (const table of engine.#tables) engine.run(`DELETE FROM ${table}`, [])
    engine.run('INSERT INTO wide_cache_identity VALUES (1, ?, ?, ?)', [
      name,
      Buffer.alloc(16, `namespace of ${name}`),
      Buffer.alloc(32, `secret of ${name}`),
    ])
    return engine
  }

  /** Leaves it to the next run. */
  giveBack(): void {
    const others = idle.get(this.#part)
    if (others) others.push(this)
    else idle.set(this.#part, [this])
  }

  /** Makes the tables equal to those of another, as a clone of a database is. */
  copyFrom(other: SqlEngine): void {
    for (const table of this.#tables) {
      this.run(`DELETE FROM ${table}`, [])
      for (const row of other.run(`SELECT * FROM ${table}`, []).rows) {
        const columns = Object.keys(row)
        this.run(
          `INSERT INTO ${table} (${columns.join(', ')}) ` +
            `VALUES (${columns.map(() => '?').join(', ')})`,
          Object.values(row),
        )
      }
    }
  }

  run(sql: string, values: readonly SqlValue[]): QueryResult {
    const statement = this.#statements.get(sql) ?? this.#sql.prepare(sql)
    this.#statements.delete(sql)
    this.#statements.set(sql, statement)
    for (const oldest of this.#statements.keys()) {
      if (this.#statements.size <= MAX_STATEMENTS_KEPT) break
      this.#statements.delete(oldest)
    }
    if (!sql.startsWith('SELECT')) return { rows: [], affectedRows: statement.run(values).changes }
    const rows = statement.all(values) as Record<string, SqlValue | Uint8Array>[]
    for (const row of rows) {
      for (const column in row) {
        const value = row[column]
        if (value instanceof Uint8Array) row[column] = Buffer.from(value)
        else if ((value as unknown) instanceof ArrayBuffer) {
          row[column] = Buffer.from(value as unknown as ArrayBuffer)
        }
      }
    }
    return { rows: rows as SqlRow[], affectedRows: 0 }
  }
}

/**
 * Statements of many rows differ by the number of rows: to keep all that ever come takes gigabytes.
 */
const MAX_STATEMENTS_KEPT = 200

/** Engines that no run uses, by their part. */
const idle = new Map<string, SqlEngine[]>()
