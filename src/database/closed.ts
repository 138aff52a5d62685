import { DatabaseError } from './database.js'

/** The error of everything that comes after a database's `close()`. */
export function closedError(): DatabaseError {
  return new DatabaseError('DATABASE_CLOSED', 'usage', 'The database has been closed by close()', {
    unsent: true,
  })
}

/** The error of a statement that `close()` has cut off: it may have been carried out. */
export function cutOffError(): DatabaseError {
  return new DatabaseError(
    'DATABASE_CLOSED',
    'usage',
    'The database has been closed by close() before it answered',
  )
}
