// @ts-check
/**
 * The thread that SQLite works in, so that no statement, lock or checkpoint ever stops the event
 * loop of the site. Plain JavaScript, since module hooks load no TypeScript into a worker on Node
 * 20. One request at a time, each answered; a big result is kept here and fetched in pieces, for
 * reading a message blocks the other side.
 *
 * @typedef {string | number | bigint | Uint8Array | null} Value
 * @typedef {{ id: number, sql: string, values: readonly Value[] } | { id: number, more: true } | {
 * id: number, close: true }} Request
 * @typedef {{ code: string, raw: number, message: string }} Failure
 * @typedef {{ id: number, columns: string[], rows: Value[][], more: boolean, changes: number } | {
 * id: number, failure: Failure, opened: boolean }} Reply
 */
import assert from 'node:assert/strict'
import { parentPort, workerData } from 'node:worker_threads'

/** Longest wait of a statement for another process that holds the file. */
const BUSY_TIMEOUT_MS = 10_000
/**
 * Longest wait for that in one call of libsql. Between two calls the thread sees that the process
 * ends.
 */
const BUSY_CALL_MS = 100
/** SQLite gives up at once where waiting in the call would be of no use. */
const RETRY_MS = 10
const SQLITE_BUSY = 5
const MAX_STATEMENTS_KEPT = 64
/** A piece of a result is read by the event loop in less than a millisecond. */
const PIECE_VALUES = 500
const PIECE_BYTES = 64 * 1024

/** @type {{ file: string, state: Int32Array }} */
const given = workerData
/** @type {import('libsql').Database | undefined} */
let database
/** @type {Failure | undefined} */
let failedToOpen
/** The rows of the last result that have not been fetched yet. @type {Value[][]} */
let rest = []
/**
 * Prepared statements, the longest unused one first. @type {Map<string,
 * import('libsql').Statement>}
 */
const statements = new Map()

/**
 * Shared with the event loop's side: whether libsql is at work, and whether it is not to be called
 * any more.
 */
const BUSY = 0
const STOP = 1
const state = given.state

assert(parentPort)
const port = parentPort
await whileBusy(async () => {
  try {
    database = await open(given.file)
  } catch (error) {
    failedToOpen = failureOf(error)
  }
})
port.on('message', (/** @type {Request} */ request) => {
  void whileBusy(() => port.postMessage(answer(request)))
  if ('close' in request || Atomics.load(state, STOP)) port.close()
})

/**
 * If Node ends this thread within a call of libsql, libsql aborts the whole process. So the other
 * side never ends it, and waits at the process's exit until it is not busy; what comes later is not
 * begun.
 *
 * @param {() => unknown} work
 */
async function whileBusy(work) {
  Atomics.store(state, BUSY, 1)
  try {
    if (!Atomics.load(state, STOP)) await work()
  } finally {
    Atomics.store(state, BUSY, 0)
    Atomics.notify(state, BUSY)
  }
}

/** @param {Request} request @returns {Reply} */
function answer(request) {
  const { id } = request
  try {
    if (failedToOpen) return { id, failure: failedToOpen, opened: false }
    assert(database)
    if ('close' in request) {
      database.close()
      return { id, columns: [], rows: [], more: false, changes: 0 }
    }
    if ('more' in request) {
      return { id, columns: [], rows: nextPiece(), more: rest.length > 0, changes: 0 }
    }
    return { id, ...run(database, request.sql, request.values) }
  } catch (error) {
    return { id, failure: failureOf(error), opened: true }
  }
}

/**
 * @param {import('libsql').Database} database @param {string} sql @param {readonly Value[]} values
 */
function run(database, sql, values) {
  const statement = patiently(() => prepared(database, sql))
  const bound = values.map(toSqlite)
  if (!statement.reader) {
    return {
      columns: [],
      rows: [],
      more: false,
      changes: patiently(() => statement.run(bound)).changes,
    }
  }
  rest = /** @type {Value[][]} */ (patiently(() => statement.all(bound)))
    .map((row) => row.map(fromSqlite))
    .reverse()
  return {
    columns: statement.columns().map(({ name }) => name),
    rows: nextPiece(),
    more: rest.length > 0,
    changes: 0,
  }
}

/**
 * Calls libsql until no other process is in the way, or has been for too long. A call that is
 * refused so has done nothing. The process's exit waits for one call only: it must not wait for all
 * of the time, and a thread that is ended within a call aborts the process.
 *
 * @template T @param {() => T} call @returns {T}
 */
function patiently(call) {
  const deadline = performance.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      return call()
    } catch (error) {
      if (
        (failureOf(error).raw & 0xff) !== SQLITE_BUSY ||
        performance.now() > deadline ||
        Atomics.load(state, STOP)
      ) {
        throw error
      }
    }
    Atomics.wait(state, STOP, 0, RETRY_MS)
  }
}

/** @param {import('libsql').Database} database @param {string} sql */
function prepared(database, sql) {
  let statement = statements.get(sql)
  statements.delete(sql)
  statement ??= database.prepare(sql)
  if (statement.reader) statement.raw(true).safeIntegers(true)
  statements.set(sql, statement)
  for (const oldest of statements.keys()) {
    if (statements.size <= MAX_STATEMENTS_KEPT) break
    statements.delete(oldest)
  }
  return statement
}

/** Takes from `rest`, which is kept in reverse so that taking is cheap. */
function nextPiece() {
  const rows = []
  let values = 0
  let bytes = 0
  while (values < PIECE_VALUES && bytes < PIECE_BYTES) {
    const row = rest.pop()
    if (!row) break
    rows.push(row)
    values += row.length
    for (const value of row) {
      if (typeof value === 'string' || value instanceof Uint8Array) bytes += value.length
    }
  }
  return rows
}

/**
 * libsql binds every `number` as REAL, for which `5 / 2` is 2.5, and reads text only up to its
 * first NUL.
 *
 * @param {Value} value
 */
function toSqlite(value) {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value
}

/** @param {Value} value */
function fromSqlite(value) {
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/**
 * WAL with synchronous=NORMAL: what is committed outlives the death of the process, since the
 * kernel has it; a power cut may take the last transactions, whole, and never damages the file.
 *
 * @param {string} file
 */
async function open(file) {
  const { default: Libsql } = await import('libsql').catch((/** @type {unknown} */ error) => {
    const { code, message } = /** @type {{ code?: unknown, message?: unknown }} */ (error)
    throw Object.assign(
      new Error(
        'SQLite needs the package "libsql", which is not installed: npm install libsql ' +
          `(${String(code ?? message)})`,
      ),
      {
        code: 'DATABASE_DRIVER_MISSING',
      },
    )
  })
  const opened = new Libsql(file)
  opened.exec(`PRAGMA busy_timeout = ${BUSY_CALL_MS}`)
  // Where many processes open a new file at once, SQLite gives up on this without waiting.
  patiently(() => opened.exec('PRAGMA journal_mode = WAL'))
  patiently(() => opened.exec('PRAGMA synchronous = NORMAL'))
  return opened
}

/** @param {unknown} error @returns {Failure} */
function failureOf(error) {
  const { code, rawCode, message } =
    /** @type {{ code?: unknown, rawCode?: unknown, message?: unknown }} */ (error)
  const text = String(message ?? error)
  // libsql has no code for a file that cannot be opened.
  const known =
    typeof code === 'string' && code !== ''
      ? code
      : text.startsWith('ConnectionFailed')
        ? 'SQLITE_CANTOPEN'
        : 'SQLITE_ERROR'
  return { code: known, raw: typeof rawCode === 'number' ? rawCode : 0, message: text }
}
