/**
 * One connection to PostgreSQL. A transaction says itself how it is isolated and how long it may
 * wait, with SET LOCAL's effect: a pooler that hands connections out by transaction, such as
 * PgBouncer, keeps nothing else. Every statement sent ends, by an answer or by its time limit.
 */
import { randomUUID } from 'node:crypto'
import { DatabaseError, type QueryResult, type SqlRow, type SqlValue } from '../database.js'
import { silence, transactionLost } from '../servers/errors.js'
import {
  BEGIN_TIMEOUT_MS,
  LOCK_WAIT_SECONDS,
  QUERY_TIMEOUT_MS,
  SERVER_IDLE_SECONDS,
} from '../servers/limits.js'
import { located, type Place } from '../servers/place.js'
import type { ServerSession, TransactionWays } from '../servers/sessions.js'
import { postgresError } from './errors.js'
import { numbered } from './values.js'

/** Most bytes of a statement. PostgreSQL takes a message of 1 GB; no text is that long. */
export const MAX_STATEMENT_BYTES = 256 * 1024 * 1024

/** Setting of the transaction's own, which is gone when something has ended the transaction. */
const GUARD = 'wide_cache.transaction'

/**
 * The settings that a transaction relies on, beside the isolation and the time limit of a
 * statement. It sets them itself, because server and role may have others. Nothing relies on those
 * of texts, dates and time zones. `search_path` is the operator's, and so is
 * `default_transaction_read_only`, by which an old primary is kept from writing.
 */
const SETTINGS = {
  lock_timeout: `${LOCK_WAIT_SECONDS}s`,
  // A host that is gone without a word must not keep its locks.
  idle_in_transaction_session_timeout: `${SERVER_IDLE_SECONDS}s`,
  // Rows come as arrays, in which a NULL would be the text "NULL".
  array_nulls: 'on',
} as const

const PROCESS = randomUUID()
const DIVISION_BY_ZERO = '22012'
let transactions = 0
/**
 * Statements that leave a session as it was: nothing but rows, and neither settings nor locks by
 * number.
 */
const PLAIN =
  /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b(?![^]*\b(?:set_config|pg_(?:try_)?advisory_lock))/i

/** Result of a statement, as pg gives it. */
interface PostgresResult {
  readonly command: string
  readonly rows: SqlRow[]
  readonly rowCount: number | null
}

/** A client of pg. */
export interface PostgresClient {
  query(statement: string | object): Promise<unknown>
}

export class PostgresSession implements ServerSession {
  readonly maxStatementBytes = MAX_STATEMENT_BYTES
  readonly #client: PostgresClient
  readonly #place: Pick<Place, 'name' | 'server'>
  /** Returns the connection to the pool, or has it removed. Called once. */
  readonly #release: (isUseless: boolean) => void
  /** Whether a statement may have changed the session. */
  #changed = false
  #ended: { readonly reason: unknown } | undefined

  constructor(
    client: PostgresClient,
    place: Pick<Place, 'name' | 'server'>,
    release: (isUseless: boolean) => void,
  ) {
    this.#client = client
    this.#place = place
    this.#release = release
  }

  async transaction<T>(
    work: (ways: TransactionWays) => Promise<T>,
    timeoutMs = QUERY_TIMEOUT_MS,
  ): Promise<T> {
    const id = `${PROCESS} ${++transactions}`
    await this.#simple(
      'BEGIN ISOLATION LEVEL READ COMMITTED; SELECT ' +
        Object.entries({ ...SETTINGS, statement_timeout: `${timeoutMs}`, [GUARD]: id })
          .map(([name, value]) => `set_config('${name}', '${value}', true)`)
          .join(', '),
      BEGIN_TIMEOUT_MS,
    )
    const result = await work({
      prepare: (sql, values) => this.prepare(sql, values, timeoutMs),
    })
    // In one message: the commit is not reached if the transaction is another one.
    await this.#simple(
      `SELECT 1 / CASE current_setting('${GUARD}', true) WHEN '${id}' THEN 1 ELSE 0 END; COMMIT`,
      QUERY_TIMEOUT_MS,
    ).catch((error: unknown) => {
      throw error instanceof DatabaseError && error.code === DIVISION_BY_ZERO
        ? transactionLost()
        : error
    })
    return result
  }

  async query(
    sql: string,
    values: readonly SqlValue[] = [],
    timeoutMs = QUERY_TIMEOUT_MS,
  ): Promise<QueryResult> {
    return this.prepare(sql, values, timeoutMs)()
  }

  /** Returns the function that sends the statement. It rejects if the values are wrong. */
  prepare(
    sql: string,
    given: readonly SqlValue[] = [],
    timeoutMs = QUERY_TIMEOUT_MS,
  ): () => Promise<QueryResult> {
    try {
      const { text, values } = numbered(sql, given)
      refuseOversize(text, values)
      // Always in the extended protocol, which takes one statement only.
      const query = { text, values, queryMode: 'extended' }
      return async () => {
        this.#changed ||= !PLAIN.test(sql)
        const result = await this.#answered(timeoutMs, () => this.#client.query(query))
        return resultOf(result as PostgresResult)
      }
    } catch (error) {
      return () => Promise.reject(error)
    }
  }

  /**
   * Gives the connection back. Settings, temporary tables and locks by number of its user are gone;
   * within a transaction that its user has left open, the server refuses that.
   */
  async recycle(): Promise<void> {
    try {
      if (this.#changed) await this.#simple('DISCARD ALL', BEGIN_TIMEOUT_MS)
    } catch (error) {
      this.destroy(error)
    }
    if (!this.#ended) this.#release(false)
  }

  /** Cuts the connection, which rolls back what is open on it; its pending statements reject. */
  destroy(reason: unknown): void {
    if (this.#ended) return
    this.#ended = { reason }
    streamOf(this.#client)?.destroy()
    this.#release(true)
  }

  async #simple(sql: string, timeoutMs: number): Promise<void> {
    await this.#answered(timeoutMs, () => this.#client.query(sql))
  }

  async #answered<T>(timeoutMs: number, send: () => Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.destroy(silence(timeoutMs)), timeoutMs)
    try {
      return await send()
    } catch (error) {
      throw located(postgresError(this.#ended?.reason ?? error), this.#place)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** @throws DatabaseError of category `data` */
function refuseOversize(text: string, values: readonly (string | Buffer | null)[]): void {
  // Up to three bytes a UTF-16 unit: count exactly only where it might not fit.
  const units = values.reduce((sum, value) => sum + (value?.length ?? 0), text.length)
  if (3 * units <= MAX_STATEMENT_BYTES) return
  const bytes = values.reduce(
    (sum, value) => sum + (value === null ? 0 : Buffer.byteLength(value)),
    Buffer.byteLength(text),
  )
  if (bytes <= MAX_STATEMENT_BYTES) return
  throw new DatabaseError(
    'DATABASE_STATEMENT_TOO_LONG',
    'data',
    `A statement of ${bytes} bytes is over the ${MAX_STATEMENT_BYTES} that are sent at once: ` +
      'send fewer rows at once',
  )
}

function resultOf({ command, rows, rowCount }: PostgresResult): QueryResult {
  return { rows, affectedRows: command === 'SELECT' ? 0 : (rowCount ?? 0) }
}

/** pg has no way to cut a connection. */
function streamOf(client: PostgresClient): { destroy(): void } | undefined {
  const { connection } = client as { connection?: { stream?: { destroy(): void } } }
  return connection?.stream
}
