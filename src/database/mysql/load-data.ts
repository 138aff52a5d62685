/**
 * Rows as the text that `LOAD DATA LOCAL` reads: bytes as they are, between tabs and line ends. The
 * server reads it faster than an INSERT, which it has to parse. The server gets the text that is
 * made here, whatever file it asks for: no file is ever read.
 */
import { Readable } from 'node:stream'
import {
  DatabaseError,
  type DatabaseErrorCategory,
  type QueryResult,
  type SqlValue,
} from '../database.js'

/** Whether a database takes rows by `LOAD DATA`, as far as it is known. */
export interface Loading {
  works: boolean
}

/** Failures that say nothing about the statement. */
const PASSING: readonly DatabaseErrorCategory[] = ['lock', 'capacity']

/** Bytes that are made in one turn of the event loop. */
const CHUNK_BYTES = 64 * 1024

const TAB = 0x09
const LINE_END = 0x0a
const ESCAPE = 0x5c
/** The letters behind the escape character for these bytes. */
const NULL_LETTER = 'N'.charCodeAt(0)
const LETTERS = new Map([
  [0, '0'.charCodeAt(0)],
  [TAB, 't'.charCodeAt(0)],
  [LINE_END, 'n'.charCodeAt(0)],
  [ESCAPE, ESCAPE],
])
/**
 * First byte that is written as it is. Of the bytes from here on only the escape character is not.
 */
const FIRST_PLAIN = LINE_END + 1

/** Most bytes of a UTF-16 unit: up to three in UTF-8, each of two when it is escaped. */
const MAX_BYTES_A_UNIT = 6
const NUMBER_BYTES = 25

/**
 * Runs a LOAD DATA. If it fails for other reasons than locks or capacity, all rows are sent as
 * INSERTs from then on.
 */
export function watched(
  loading: Loading,
  load: () => Promise<QueryResult>,
): () => Promise<QueryResult> {
  return async () => {
    try {
      return await load()
    } catch (error) {
      const passes = error instanceof DatabaseError && PASSING.includes(error.category)
      if (!passes) loading.works = false
      throw error
    }
  }
}

/**
 * Returns the rows as a stream. It reads them when the stream is read, some of them in a turn of
 * the event loop, so a source may reuse one array for all rows.
 *
 * @param maxBytes of a packet, and so of each piece of the stream
 */
export function loadedRows(rows: Iterable<readonly SqlValue[]>, maxBytes: number): Readable {
  const chunks = piecesOf(chunksOf(rows), maxBytes)
  return new Readable({
    highWaterMark: 1,
    read() {
      setImmediate(() => {
        if (this.destroyed) return
        try {
          this.push(chunks.next().value ?? null)
        } catch (error) {
          this.destroy(error instanceof Error ? error : new Error(String(error)))
        }
      })
    },
  })
}

/** A row may lie in several pieces: the server reads bytes. */
function* piecesOf(
  chunks: Iterable<Buffer>,
  maxBytes: number,
): Generator<Buffer, undefined, undefined> {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += maxBytes) yield chunk.subarray(at, at + maxBytes)
  }
}

/** @throws what the rows throw */
export function* chunksOf(
  rows: Iterable<readonly SqlValue[]>,
): Generator<Buffer, undefined, undefined> {
  let chunk = Buffer.allocUnsafe(2 * CHUNK_BYTES)
  let at = 0
  for (const row of rows) {
    const most = bytesOf(row)
    if (at > 0 && at + most > chunk.length) {
      yield chunk.subarray(0, at)
      chunk = Buffer.allocUnsafe(Math.max(2 * CHUNK_BYTES, most))
      at = 0
    }
    if (most > chunk.length) chunk = Buffer.allocUnsafe(most)
    for (let index = 0; index < row.length; index++) {
      if (index > 0) chunk[at++] = TAB
      at = write(row[index] as SqlValue, chunk, at)
    }
    chunk[at++] = LINE_END
    if (at >= CHUNK_BYTES) {
      yield chunk.subarray(0, at)
      chunk = Buffer.allocUnsafe(2 * CHUNK_BYTES)
      at = 0
    }
  }
  if (at > 0) yield chunk.subarray(0, at)
}

/** Estimates the bytes of a row, never too low. */
function bytesOf(row: readonly SqlValue[]): number {
  let bytes = row.length
  for (let index = 0; index < row.length; index++) {
    const value = row[index]
    if (typeof value === 'string') bytes += MAX_BYTES_A_UNIT * value.length
    else if (Buffer.isBuffer(value)) bytes += 2 * value.length
    else if (typeof value === 'bigint') bytes += value.toString().length
    else bytes += NUMBER_BYTES
  }
  return bytes
}

/** Writes a value, and returns the index of its end. */
function write(value: SqlValue, target: Buffer, at: number): number {
  if (typeof value === 'string') return writeText(value, target, at)
  if (value === null) {
    target[at] = ESCAPE
    target[at + 1] = NULL_LETTER
    return at + 2
  }
  if (typeof value === 'object') return writeBytes(value, target, at)
  return writeText(String(value), target, at)
}

function writeText(text: string, target: Buffer, at: number): number {
  // Most texts are short and plain, and a loop is faster for these.
  const start = at
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit >= 0x80 || unit < FIRST_PLAIN || unit === ESCAPE) {
      return writeBytes(Buffer.from(text), target, start)
    }
    target[at++] = unit
  }
  return at
}

function writeBytes(bytes: Buffer, target: Buffer, at: number): number {
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]!
    const letter = byte < FIRST_PLAIN || byte === ESCAPE ? LETTERS.get(byte) : undefined
    if (letter !== undefined) {
      target[at++] = ESCAPE
      target[at++] = letter
    } else target[at++] = byte
  }
  return at
}
