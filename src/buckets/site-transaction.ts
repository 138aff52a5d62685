/**
 * Rows in a transaction of the site's own, whatever library has opened it. All that is known of it
 * is a function that runs one SQL text. So the texts have no placeholders, whose dialects differ,
 * and no result is read: ids are ASCII, numbers are numbers, and bytes are hexadecimal.
 */
import assert from 'node:assert/strict'
import type { PreparedDatabase } from '../connections/prepared-database.js'
import { DatabaseError } from '../database/database.js'
import { bytesLiteral } from '../database/dialect.js'
import { databaseId } from '../database/identity.js'
import type { Environment } from '../support/environment.js'
import { refusedOption, shown } from '../support/options.js'
import { within } from '../support/within.js'

/** Runs one SQL text, without parameters, in the caller's own transaction. */
export type RunSql = (sql: string) => PromiseLike<unknown>

/** Rows of one owner in a table of the database. */
export interface SiteRows {
  readonly table: string
  /** The first one is for the id of the owner. */
  readonly columns: readonly string[]
  /** Letters, digits, and signs that need no escape. */
  readonly name: string
  readonly rows: Iterable<readonly (number | Buffer)[]>
}

const SAVEPOINT = 'wide_cache'
const MAX_ROWS_A_STATEMENT = 500
/** A look that takes longer waits for a lock, which its own caller may hold. */
const MAX_LOOK_MS = 10_000

/**
 * The last look at a transaction. Looks in one transaction must not overlap, because MySQL releases
 * later savepoints with an earlier one. Functions do not tell whether theirs is the same.
 */
let lastLook: Promise<unknown> = Promise.resolve()

export class SiteTransactions {
  readonly #database: PreparedDatabase
  readonly #environment: Environment
  readonly #what: string
  #identity: Promise<string> | undefined

  /** @param what has the database, such as `map "stock"` */
  constructor(database: PreparedDatabase, what: string, environment: Environment) {
    this.#database = database
    this.#what = what
    this.#environment = environment
  }

  /**
   * Inserts rows. Nothing is inserted outside a transaction.
   *
   * @throws TypeError for a function that returns no promise, and for SQLite; DatabaseError
   * `DATABASE_NO_TRANSACTION`, `DATABASE_OTHER`, with the driver's error as `cause`; what the
   * function throws
   */
  async insert(run: RunSql, rows: SiteRows): Promise<void> {
    const { dialect, maxStatementBytes } = this.#database
    const bytes = bytesLiteral(dialect)
    if (!bytes) {
      const allowed = 'with SQLite, the transaction that database.transaction(work) gives to work'
      throw refusedOption('tx', `a function, and the ${this.#what} is in SQLite`, allowed)
    }
    this.#identity ??= this.#readIdentity()
    const identity = await this.#identity
    await this.#look(run)
    const literal = (value: number | Buffer): string =>
      typeof value === 'number' ? String(value) : bytes(value)
    for (const sql of insertsOf(rows, identity, literal, maxStatementBytes)) {
      await this.#run(run, sql)
    }
  }

  /** Outside a transaction, one of these fails in both servers, on any connection of a pool. */
  async #look(run: RunSql): Promise<void> {
    const look = within(MAX_LOOK_MS, lastLook, this.#environment.clock).then(async () => {
      await this.#run(run, `SAVEPOINT ${SAVEPOINT}`)
      await this.#run(run, `RELEASE SAVEPOINT ${SAVEPOINT}`)
    })
    lastLook = look
    await look
  }

  async #run(run: RunSql, sql: string): Promise<void> {
    const answer: unknown = run(sql)
    if (typeof (answer as Partial<PromiseLike<unknown>> | undefined)?.then !== 'function') {
      const description = `a function that returns ${shown(answer)}`
      throw refusedOption('tx', description, 'a function that runs the SQL and returns its promise')
    }
    try {
      await answer
    } catch (error) {
      throw this.#explained(error)
    }
  }

  #explained(error: unknown): unknown {
    const codes = codesIn(error)
    const found = MEANINGS.find(({ driver }) => driver.some((code) => codes.has(code)))
    if (!found) return error
    return new DatabaseError(found.code, 'usage', found.message(this.#what), { cause: error })
  }

  async #readIdentity(): Promise<string> {
    try {
      const identity = await databaseId((sql) => this.#database.query(sql))
      assert(identity !== undefined, 'a prepared database has an identity')
      return identity
    } catch (error) {
      this.#identity = undefined
      throw error
    }
  }
}

/** Errors, by MySQL's numbers and PostgreSQL's SQLSTATEs, that mean a mistake of the caller. */
const MEANINGS = [
  {
    driver: ['1305', '25P01'],
    code: 'DATABASE_NO_TRANSACTION',
    message: (what: string) =>
      `The function "tx" runs SQL outside a transaction, so nothing was added to the ${what}. ` +
      'Run it on the connection of your transaction, not on the pool',
  },
  {
    driver: ['1295'],
    code: 'DATABASE_STATEMENT_REFUSED',
    message: (what: string) =>
      `The function "tx" prepares statements, and MySQL prepares no SAVEPOINT, so nothing was ` +
      `added to the ${what}. Run the SQL as text: with mysql2 by query(), not execute()`,
  },
  {
    driver: ['1242', '21000', '1146', '42P01'],
    code: 'DATABASE_OTHER',
    message: (what: string) =>
      `The function "tx" runs SQL in another database than that of the ${what}, so nothing was ` +
      'added. Give both the same database',
  },
] as const

/** Libraries wrap the driver's error, each in its own way. */
const WRAPPED = ['cause', 'parent', 'original', 'driverError', 'meta']
const CODES = ['code', 'errno', 'sqlState', 'sqlstate']

function codesIn(error: unknown, depth = 4): Set<string> {
  const codes = new Set<string>()
  if (typeof error !== 'object' || error === null) return codes
  const fields = error as Record<string, unknown>
  for (const name of CODES) codes.add(String(fields[name]))
  if (depth === 0) return codes
  for (const name of WRAPPED) for (const code of codesIn(fields[name], depth - 1)) codes.add(code)
  return codes
}

/**
 * Statements that insert the rows, and fail in another database: there, the subquery has two rows.
 */
function* insertsOf(
  { table, columns, name: id, rows }: SiteRows,
  identity: string,
  literal: (value: number | Buffer) => string,
  maxBytes: number,
): Generator<string> {
  const head = `INSERT INTO ${table} (${columns.join(', ')}) VALUES `
  const checkedId =
    `(SELECT '${id}' UNION ALL SELECT '${id}' FROM wide_cache_identity ` +
    `WHERE id <> '${identity}')`
  let sql = ''
  let count = 0
  for (const row of rows) {
    const values = `${row.map(literal).join(', ')})`
    const next = `, ('${id}', ${values}`
    if (count > 0 && count < MAX_ROWS_A_STATEMENT && sql.length + next.length <= maxBytes) {
      sql += next
      count++
      continue
    }
    if (count > 0) yield sql
    sql = `${head}(${checkedId}, ${values}`
    count = 1
  }
  if (count > 0) yield sql
}
