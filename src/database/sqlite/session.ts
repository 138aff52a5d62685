/**
 * The event loop's side of the thread that SQLite works in: one request, one answer. The thread
 * keeps the process alive only while a user of it says so. If it dies, pending requests reject and
 * the session cannot be used again: a transaction that has begun on one thread never goes on in
 * another.
 */
import { Worker } from 'node:worker_threads'
import { packageFile } from '../../support/package-file.js'
import { DatabaseError, type QueryResult, type SqlRow, type SqlValue } from '../database.js'
import { openingError, sqliteError, type SqliteFailure } from './errors.js'

type Ask =
  | { readonly sql: string; readonly values: readonly SqlValue[] }
  | { readonly more: true }
  | { readonly close: true }
type Piece = {
  readonly columns: readonly string[]
  readonly rows: readonly WorkerRow[]
  readonly more: boolean
  readonly changes: number
}
type Reply = { readonly id: number } & (
  | Piece
  | { readonly failure: SqliteFailure; readonly opened: boolean }
)
type WorkerRow = readonly (Exclude<SqlValue, Buffer> | Uint8Array)[]
type Waiting = { readonly resolve: (piece: Piece) => void; readonly reject: (error: Error) => void }

/** Longest time that the exit of the process waits for running statements. */
const EXIT_WAIT_MS = 2_000
const BUSY = 0
const STOP = 1

/** States of the running threads; see `whileBusy` in the worker. */
const states = new Set<Int32Array>()

export class SqliteSession {
  readonly #worker: Worker
  readonly #file: string
  readonly #state = new Int32Array(new SharedArrayBuffer(8))
  readonly #waiting = new Map<number, Waiting>()
  /** Resolves when the thread has ended. */
  readonly #exited: Promise<void>
  #lastId = 0
  #death: DatabaseError | undefined

  constructor(file: string) {
    this.#file = file
    // Without our own execArgv the thread would load what the process was told to: module hooks.
    this.#worker = new Worker(packageFile('database/sqlite/worker.js'), {
      workerData: { file, state: this.#state },
      execArgv: [],
      name: 'wide-cache sqlite',
    })
    if (states.size === 0) process.on('exit', stopAll)
    states.add(this.#state)
    this.#worker.unref()
    // Node hands over messages one after the other as long as any are there, without a turn for
    // timers and connections in between. Where the caller makes its next statement while the thread
    // is at one, there always is one. So each answer has a turn of the event loop of its own.
    this.#worker.on('message', (reply: Reply) => void setImmediate(() => this.#answer(reply)))
    this.#worker.on('error', (error) => this.#die(`The SQLite thread has died: ${error.message}`))
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        states.delete(this.#state)
        if (states.size === 0) process.off('exit', stopAll)
        this.#die('The SQLite thread has ended')
        resolve()
      })
    })
  }

  get dead(): boolean {
    return this.#death !== undefined
  }

  /** Runs one statement. No two may overlap: the thread keeps the rest of one result only. */
  async query(sql: string, values: readonly SqlValue[]): Promise<QueryResult> {
    let piece = await this.#ask({ sql, values })
    const { columns, changes } = piece
    const rows: SqlRow[] = []
    for (;;) {
      for (const row of piece.rows) rows.push(rowOf(columns, row))
      if (!piece.more) return { rows, affectedRows: changes }
      piece = await this.#ask({ more: true })
    }
  }

  /** Keeps the process alive until `release` is called. One user at a time has the session. */
  hold(): void {
    this.#worker.ref()
  }

  release(): void {
    this.#worker.unref()
  }

  /**
   * Closes the file and ends the thread, also one that has been given up. libsql keeps a file open
   * as long as there are statements for it, and these go with the thread.
   */
  async close(): Promise<void> {
    await Promise.all([this.#ask({ close: true }).catch(() => undefined), this.#exited])
  }

  /**
   * Gives the thread up. Pending requests reject. The thread ends after its current statement, and
   * rolls back.
   */
  destroy(): void {
    this.#die('The SQLite thread has been given up')
  }

  #ask(ask: Ask): Promise<Piece> {
    if (this.#death) return Promise.reject(this.#death)
    const id = ++this.#lastId
    return new Promise<Piece>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#worker.postMessage({ id, ...ask })
    })
  }

  #answer(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if (!('failure' in reply)) return waiting?.resolve(reply)
    const error = reply.opened
      ? sqliteError(reply.failure)
      : openingError(reply.failure, this.#file)
    waiting?.reject(error)
    // A thread without a file is of no use; the next one may find the disk or the package again.
    // And libsql does not reset a statement that another process has kept waiting for too long: as
    // long as it is there, the connection sees the file as it was, and no transaction begins.
    if (!reply.opened || error.category === 'lock') this.#die(error.message, error)
  }

  #die(
    message: string,
    error = new DatabaseError('DATABASE_THREAD_DIED', 'unreachable', message),
  ): void {
    if (this.#death) return
    this.#death = error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
    Atomics.store(this.#state, STOP, 1)
    // Any message wakes it, to see that it is to stop.
    this.#worker.postMessage({ id: 0, more: true })
  }
}

/** Has all threads stop. Waits for their running statements. */
function stopAll(): void {
  for (const state of states) {
    Atomics.store(state, STOP, 1)
    Atomics.notify(state, STOP)
  }
  const deadline = performance.now() + EXIT_WAIT_MS
  for (const state of states) {
    Atomics.wait(state, BUSY, 1, Math.max(0, deadline - performance.now()))
  }
}

/** Makes a row, with Buffers, which lose their class on the way between threads. */
function rowOf(columns: readonly string[], values: WorkerRow): SqlRow {
  const row: { [column: string]: SqlValue } = {}
  columns.forEach((column, index) => {
    const value = values[index] ?? null
    row[column] =
      value instanceof Uint8Array
        ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
        : value
  })
  return row
}
