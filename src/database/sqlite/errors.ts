/**
 * Translates errors of SQLite into a DatabaseError. Their messages name tables and columns, and
 * never values, because these are bound.
 */
import { DatabaseError } from '../database.js'
import { saidOf, withRemedy } from '../servers/said.js'
import { SAID } from './said.js'

/** Failure as the thread reports it. */
export interface SqliteFailure {
  readonly code: string
  /** SQLite's extended result code; its lowest byte is the primary one. */
  readonly raw: number
  readonly message: string
}

/** Names of the primary result codes by number, https://sqlite.org/rescode.html */
const PRIMARY =
  'OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL ' +
  'CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB'
const NAMES = PRIMARY.split(' ').map((name) => `SQLITE_${name}`)

/**
 * Messages of errors that have no result code of their own. They are about the rows: fewer of them
 * would do.
 */
const TOO_MANY = /^too many SQL variables|^too many terms/

export function sqliteError({ code, raw, message }: SqliteFailure): DatabaseError {
  const said = saidOf(SAID, raw === 0 ? code : (NAMES[raw & 0xff] ?? code))
  const category = TOO_MANY.test(message) ? 'data' : (said?.category ?? 'usage')
  const text = code.startsWith('SQLITE_') ? `${code}: ${message}` : message
  return new DatabaseError(code, category, withRemedy(text, said))
}

/** The error of a file that cannot be opened, or of the driver that is missing. */
export function openingError(failure: SqliteFailure, file: string): DatabaseError {
  const { code, category, message } = sqliteError(failure)
  if (!code.startsWith('SQLITE_')) return new DatabaseError(code, category, message)
  return new DatabaseError(code, category, `sqlite:${file} cannot be opened: ${message}`)
}
