/**
 * One connection to MySQL, in a known state: strict, UTC, utf8mb4, READ COMMITTED, whatever the
 * server's defaults are and whatever its last user has done. Every statement sent on it ends.
 * mysql2 leaves the promises of a connection that it closes itself pending, so they are kept here.
 */
import type { Socket } from 'node:net'
import type { PoolConnection, ResultSetHeader, TypeCastField } from 'mysql2'
import { DatabaseError, type QueryResult, type SqlRow, type SqlValue } from '../database.js'
import { loadData } from '../dialect.js'
import { silence, transactionLost } from '../servers/errors.js'
import { BEGIN_TIMEOUT_MS, IDLE_MS, QUERY_TIMEOUT_MS, QUIT_TIMEOUT_MS } from '../servers/limits.js'
import { located, type Place } from '../servers/place.js'
import type { ServerSession, TransactionWays } from '../servers/sessions.js'
import { checkedValues, exactInteger } from '../statement-values.js'
import { mysqlError, withHolder } from './errors.js'
import { loadedRows, type Loading, watched } from './load-data.js'
import { SET_ALL } from './settings.js'

/** Time after which a statement probably waits for a lock, early enough to find its holder. */
const LOOK_FOR_HOLDER_MS = 15_000
const RESET_TIMEOUT_MS = 5_000
/** The protocol's own bytes in a packet are fewer. */
const PACKET_MARGIN_BYTES = 64

/**
 * Asks whether the server takes rows of its client. A Galera node that splits LOAD DATA commits
 * what it has so far.
 */
const LOAD_SETTINGS =
  "SHOW VARIABLES WHERE Variable_name IN ('local_infile', 'wsrep_load_data_splitting')"
/**
 * Flag of the server's status: a transaction is open. Behind a proxy that shares connections, an
 * answer without it comes from a connection that has no transaction.
 */
const IN_TRANSACTION = 1
/**
 * Savepoint that is gone when something has committed the transaction, set before the first
 * statement that might do so: COMMIT AND CHAIN keeps the flag. Set at once where a server or proxy
 * does not show the flag.
 */
const GUARD = 'wide_cache'
const ISOLATION = 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'

/**
 * Statements that leave a session as it was: nothing but rows, and neither variables nor locks by
 * name.
 */
const PLAIN = /^\s*(?:SELECT|INSERT|UPDATE|DELETE)\b(?![^]*(?:@|_LOCK\s*\())/i

type WhoHolds = (connectionId: number) => Promise<string | undefined>

export class MysqlSession implements ServerSession {
  readonly #connection: PoolConnection
  readonly #gone: () => void
  readonly #pending = new Set<(error: unknown) => void>()
  #maxStatementBytes = Infinity
  #loads = false
  #knowsRowAlias = false
  readonly #whoHolds: WhoHolds
  readonly #place: Pick<Place, 'name' | 'server'>
  readonly #loading: Loading
  /** The server's id of this connection. */
  #id = 0
  /** Whether a statement may have changed the known state. */
  #changed = false
  /** Whether a transaction is open, whether its answers say so, and whether it has its guard. */
  #isOpen = false
  #isShown = false
  #isGuarded = false
  /** While it is in the pool: the time of its return, and the timer that closes it. */
  #idle: { readonly since: number; readonly timer: NodeJS.Timeout } | undefined
  #destroyed = false
  /** Not to be used again once it is free. */
  #condemned: { readonly reason: unknown } | undefined

  /**
   * `gone` is called when the connection is of no use any more; `whoHolds` tells who holds the lock
   * that a connection waits for; `place` names the server in messages; `loading` is that of all
   * sessions of the database.
   */
  constructor(
    connection: PoolConnection,
    gone: () => void,
    whoHolds: WhoHolds,
    place: Pick<Place, 'name' | 'server'>,
    loading: Loading,
  ) {
    this.#connection = connection
    this.#loading = loading
    this.#gone = gone
    this.#whoHolds = whoHolds
    this.#place = place
    // What is under way has a timer, and that keeps the process alive.
    streamOf(connection)?.unref()
    // mysql2 may emit more than one error, and its pool listens to the first only.
    connection.on('error', (error: unknown) => this.destroy(error))
    connection.on('end', () => this.destroy(lost('The server has closed the connection')))
  }

  /** Whether a statement awaits its answer. */
  get busy(): boolean {
    return this.#pending.size > 0
  }

  /** Whether the pool may hand it over. */
  get idle(): boolean {
    return this.#idle !== undefined
  }

  /** The most bytes of a statement with its values. Known once the session has begun. */
  get maxStatementBytes(): number {
    return this.#maxStatementBytes
  }

  /** Whether the server takes {@link load}. Known once the session has begun. */
  get loads(): boolean {
    return this.#loads
  }

  /** Whether the server knows `VALUES … AS new`. Known once the session has begun. */
  get knowsRowAlias(): boolean {
    return this.#knowsRowAlias
  }

  /** Brings a new connection into the known state. */
  async begin(): Promise<void> {
    await this.#bringIntoKnownState()
    const { rows } = await this.#send(
      'SELECT @@max_allowed_packet AS bytes, CONNECTION_ID() AS id, VERSION() AS version',
      BEGIN_TIMEOUT_MS,
    )
    this.#maxStatementBytes = Number(rows[0]?.['bytes']) - PACKET_MARGIN_BYTES
    this.#id = Number(rows[0]?.['id'])
    this.#knowsRowAlias = knowsRowAlias(String(rows[0]?.['version']))
    const settings = await this.#send(LOAD_SETTINGS, BEGIN_TIMEOUT_MS)
    this.#loads = mayLoad(settings.rows)
  }

  async #bringIntoKnownState(): Promise<void> {
    await this.#send(SET_ALL, BEGIN_TIMEOUT_MS)
    await this.#send(ISOLATION, BEGIN_TIMEOUT_MS)
    this.#changed = false
  }

  /**
   * Runs `work` in a transaction. If `work` or the commit rejects, so does this, and the connection
   * must not be used again.
   */
  async transaction<T>(work: (ways: TransactionWays) => Promise<T>): Promise<T> {
    await this.#send('START TRANSACTION', BEGIN_TIMEOUT_MS)
    this.#isOpen = true
    if (!this.#isShown) await this.#guard()
    const result = await work({
      prepare: (sql, values) => this.prepare(sql, values),
      load:
        this.#loads && this.#loading.works
          ? (...rows) => watched(this.#loading, this.load(...rows))
          : undefined,
    })
    if (this.#isGuarded) await this.#checkGuard()
    this.#isOpen = this.#isGuarded = false
    await this.#send('COMMIT', QUERY_TIMEOUT_MS)
    return result
  }

  /** Sets the guard, in a transaction that has none yet. */
  async #guard(): Promise<void> {
    if (!this.#isOpen || this.#isGuarded) return
    this.#isGuarded = true
    await this.#send(`SAVEPOINT ${GUARD}`, BEGIN_TIMEOUT_MS)
  }

  async #checkGuard(): Promise<void> {
    await this.#send(`RELEASE SAVEPOINT ${GUARD}`, QUERY_TIMEOUT_MS).catch((error: unknown) => {
      throw error instanceof DatabaseError && error.code === 'ER_SP_DOES_NOT_EXIST'
        ? transactionLost()
        : error
    })
  }

  /**
   * Gives the connection back to the pool as if it were new: open transactions, locks, variables
   * and temporary tables of its user are gone. COM_RESET_CONNECTION also forgets utf8mb4, so all is
   * said again. After plain statements there is nothing to forget, and three round trips are saved.
   */
  async recycle(): Promise<void> {
    if (!this.#changed || this.#condemned) return this.#release()
    try {
      await this.#answered<void>(RESET_TIMEOUT_MS, (done) =>
        this.#connection.reset((error) => done(error, undefined)),
      )
      await this.#bringIntoKnownState()
      this.#release()
    } catch (error) {
      this.destroy(error)
    }
  }

  #release(): void {
    if (this.#destroyed) return
    if (this.#condemned) return this.destroy(this.#condemned.reason)
    this.#idle = {
      since: performance.now(),
      timer: setTimeout(() => this.#quit(), IDLE_MS).unref(),
    }
    this.#connection.release()
  }

  /**
   * Takes it out of the pool again; `false` if it has been idle too long, because the event loop
   * stood still, and is closed.
   */
  take(): boolean {
    if (!this.#idle) return true
    clearTimeout(this.#idle.timer)
    const { since } = this.#idle
    this.#idle = undefined
    if (performance.now() - since < IDLE_MS) return true
    this.#quit()
    return false
  }

  /** Has it destroyed because of `reason`: now if it is idle, else when its user gives it back. */
  condemn(reason: unknown): void {
    this.#condemned ??= { reason }
    if (this.#idle) this.destroy(reason)
  }

  /** Closes the connection in order, and cuts it off if the server does not answer. */
  #quit(): void {
    if (this.#destroyed) return
    // mysql2's pool forgets it here.
    this.#connection.end()
    setTimeout(() => this.destroy(lost('The connection has been closed')), QUIT_TIMEOUT_MS).unref()
  }

  async query(
    sql: string,
    values: readonly SqlValue[] = [],
    timeoutMs = QUERY_TIMEOUT_MS,
  ): Promise<QueryResult> {
    return this.prepare(sql, values, timeoutMs)()
  }

  /**
   * Puts the values into the statement, and returns the function that sends it. That function
   * rejects if the values are wrong.
   */
  prepare(
    sql: string,
    values: readonly SqlValue[] = [],
    timeoutMs = QUERY_TIMEOUT_MS,
  ): () => Promise<QueryResult> {
    let text: string
    try {
      text = this.#connection.format(sql, checkedValues(sql, values))
      this.#refuseOversize(text)
    } catch (error) {
      return () => Promise.reject(error)
    }
    return async () => {
      if (!PLAIN.test(sql)) {
        this.#changed = true
        await this.#guard()
      }
      return this.#sendWatched(text, timeoutMs)
    }
  }

  /**
   * Returns the function that sends rows by `LOAD DATA LOCAL`. The server cuts and skips what does
   * not fit, even in strict mode, and only counts it. So the function fails with category `data`
   * unless the server has stored all rows as they are, and where the server does not know it.
   */
  load(
    table: string,
    columns: readonly string[],
    rows: Iterable<readonly SqlValue[]>,
    count: number,
  ): () => Promise<QueryResult> {
    return async () => {
      await this.#guard()
      const stream = loadedRows(rows, this.#maxStatementBytes)
      const query = { sql: loadData(table, columns), infileStreamFactory: () => stream }
      try {
        const { affectedRows, warningStatus } = await this.#answered<ResultSetHeader>(
          QUERY_TIMEOUT_MS,
          (done) => this.#connection.query<ResultSetHeader>(query, done),
        )
        if (affectedRows === count && warningStatus === 0) return { rows: [], affectedRows }
      } catch (error) {
        if (!(error instanceof DatabaseError && error.category === 'usage')) throw error
      } finally {
        stream.destroy()
      }
      throw notLoaded()
    }
  }

  /**
   * Sends a statement. If it fails because others hold a lock too long, its error names the holder.
   */
  async #sendWatched(text: string, timeoutMs: number): Promise<QueryResult> {
    let holder: string | undefined
    const timer = setTimeout(
      () => void this.#whoHolds(this.#id).then((found) => (holder = found)),
      LOOK_FOR_HOLDER_MS,
    )
    try {
      return await this.#send(text, timeoutMs)
    } catch (error) {
      throw withHolder(error, holder)
    } finally {
      clearTimeout(timer)
    }
  }

  async #send(text: string, timeoutMs: number): Promise<QueryResult> {
    const result = await this.#answered<SqlRow[] | ResultSetHeader>(timeoutMs, (done) =>
      this.#connection.query<ResultSetHeader>(text, done),
    )
    if (Array.isArray(result)) return { rows: result, affectedRows: 0 }
    const shows = (result.serverStatus & IN_TRANSACTION) !== 0
    if (this.#isOpen && this.#isShown && !shows) throw transactionLost()
    this.#isShown = shows
    return { rows: [], affectedRows: result.affectedRows }
  }

  /** Cuts the connection, which rolls back what is open on it; its pending statements reject. */
  destroy(reason: unknown): void {
    this.#destroyed = true
    clearTimeout(this.#idle?.timer)
    this.#connection.destroy()
    // mysql2 only half-closes, and a peer that is gone never closes its half.
    streamOf(this.#connection)?.destroy()
    const pending = [...this.#pending]
    this.#pending.clear()
    for (const fail of pending) fail(reason)
    this.#gone()
  }

  /**
   * Refuses a statement that is too big for a packet. The server would cut the connection, and its
   * reason would mostly be lost.
   */
  #refuseOversize(text: string): void {
    // Up to three bytes a UTF-16 unit: count exactly only where it might not fit.
    if (3 * text.length <= this.#maxStatementBytes) return
    const bytes = Buffer.byteLength(text)
    if (bytes <= this.#maxStatementBytes) return
    const packet = this.#maxStatementBytes + PACKET_MARGIN_BYTES
    const message =
      `A statement of ${bytes} bytes is over the ${this.#maxStatementBytes} ` +
      `that the server's max_allowed_packet of ${packet} leaves: raise it, or ` +
      'send fewer rows at once'
    throw new DatabaseError('ER_NET_PACKET_TOO_LARGE', 'data', message)
  }

  async #answered<T>(
    timeoutMs: number,
    start: (done: (error: unknown, result: T) => void) => void,
  ): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    let fail: ((error: unknown) => void) | undefined
    try {
      return await new Promise<T>((resolve, reject) => {
        fail = reject
        this.#pending.add(reject)
        timer = setTimeout(() => this.destroy(silence(timeoutMs)), timeoutMs)
        start((error, result) => (error ? reject(error) : resolve(result)))
      })
    } catch (error) {
      throw located(mysqlError(error), this.#place)
    } finally {
      clearTimeout(timer)
      if (fail) this.#pending.delete(fail)
    }
  }
}

function mayLoad(settings: readonly SqlRow[]): boolean {
  const isOn = (name: string): boolean =>
    settings.some((row) => row['Variable_name'] === name && row['Value'] === 'ON')
  return isOn('local_infile') && !isOn('wsrep_load_data_splitting')
}

function notLoaded(): DatabaseError {
  return new DatabaseError(
    'DATABASE_NOT_LOADED',
    'data',
    'The server changed or skipped rows of a LOAD DATA, and they were rolled back, ' +
      'and this process sends INSERTs from now on',
  )
}

function lost(message: string): DatabaseError {
  return new DatabaseError('PROTOCOL_CONNECTION_LOST', 'unreachable', message)
}

/** MySQL from 8.0.19 on does, where VALUES(column) is deprecated. MariaDB does not. */
export function knowsRowAlias(version: string): boolean {
  if (/mariadb/i.test(version)) return false
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number)
  return major > 8 || (major === 8 && (minor > 0 || patch >= 19))
}

export function streamOf(connection: PoolConnection): Socket | undefined {
  return (connection as unknown as { stream?: Socket }).stream
}

/** Reads every integer exactly, SUM()s too. mysql2 would read big numbers as floats. */
export function mysqlValue(field: TypeCastField, next: () => unknown): unknown {
  switch (field.type as string) {
    case 'LONGLONG':
    case 'DECIMAL':
    case 'NEWDECIMAL': {
      const text = field.string('ascii')
      return text !== null && /^-?\d+$/.test(text) ? exactInteger(text) : text
    }
    case 'GEOMETRY':
    case 'VECTOR':
      return field.buffer()
    default:
      return next()
  }
}
