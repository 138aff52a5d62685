/**
 * Translates errors of SQLite into a DatabaseError. Their messages name tables and columns, and
 * never values, because these are bound.
 */
import { DatabaseError, type DatabaseErrorCategory } from '../database.js'

/** Failure as the thread reports it. */
export interface SqliteFailure {
  readonly code: string
  /** SQLite's extended result code; its lowest byte is the primary one. */
  readonly raw: number
  readonly message: string
}

/** By primary result code, https://sqlite.org/rescode.html */
const CATEGORIES = new Map<number, DatabaseErrorCategory>([
  [5, 'lock'], // BUSY
  [6, 'lock'], // LOCKED
  [7, 'capacity'], // NOMEM
  [8, 'capacity'], // READONLY
  [10, 'capacity'], // IOERR
  [13, 'capacity'], // FULL
  [14, 'capacity'], // CANTOPEN
  [18, 'data'], // TOOBIG
  [19, 'data'], // CONSTRAINT
  [20, 'data'], // MISMATCH
  [25, 'data'], // RANGE
])

/** Remedies, by primary result code. */
const REMEDIES = new Map<number, string>([
  [5, 'Another process holds the file: keep its transactions short'],
  [8, 'Let this process write to the file and to its folder'],
  [11, 'Restore the file from a backup'],
  [13, 'Free space on its disk'],
  [26, 'Name another file, or none that is there'],
])

/**
 * Messages of errors that have no result code of their own. They are about the rows: fewer of them
 * would do.
 */
const TOO_MANY = /^too many SQL variables|^too many terms/

export function sqliteError({ code, raw, message }: SqliteFailure): DatabaseError {
  const category =
    code === 'SQLITE_CANTOPEN'
      ? 'capacity'
      : TOO_MANY.test(message)
        ? 'data'
        : (CATEGORIES.get(raw & 0xff) ?? 'usage')
  const remedy = REMEDIES.get(raw & 0xff)
  const text = code.startsWith('SQLITE_') ? `${code}: ${message}` : message
  return new DatabaseError(code, category, remedy === undefined ? text : `${text}. ${remedy}`)
}

/** The error of a file that cannot be opened, or of the driver that is missing. */
export function openingError(failure: SqliteFailure, file: string): DatabaseError {
  const { code, category, message } = sqliteError(failure)
  if (!code.startsWith('SQLITE_')) return new DatabaseError(code, category, message)
  return new DatabaseError(
    code,
    category,
    `sqlite:${file} cannot be opened (${message}). Check that the folder is there and that ` +
      'this process may write in it',
  )
}
