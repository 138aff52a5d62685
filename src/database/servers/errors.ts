/** Errors that any database server may cause, whichever driver reports them. */
import { DatabaseError } from '../database.js'
import { ACQUIRE_TIMEOUT_MS, QUEUE_LIMIT } from './limits.js'

/** Code of an answer that did not come in time. */
export const SILENCE = 'ETIMEDOUT'

/** Tells whether an answer did not come in time. */
export function isSilence(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.code === SILENCE
}

/** The error of a server that has not answered. */
export function silence(timeoutMs: number): DatabaseError {
  const check = 'Check the network and the load of the server'
  const message = `No answer within ${timeoutMs / 1000} s. ${check}`
  return new DatabaseError(SILENCE, 'unreachable', message)
}

/**
 * Marks the error of a connection that could not be brought into its state: the caller's statement
 * was not sent.
 */
export function unsent(error: unknown): unknown {
  return error instanceof DatabaseError
    ? new DatabaseError(error.code, error.category, error.message, {
        unsent: true,
        server: error.server,
      })
    : error
}

/** The error of a caller that finds the queue full. */
export function queueFull(): DatabaseError {
  return new DatabaseError(
    'DATABASE_QUEUE_FULL',
    'capacity',
    `All connections are busy and ${QUEUE_LIMIT} callers wait for one. Await statements, or ` +
      'raise connection_limit',
  )
}

/** The error of a caller that has waited too long for a connection. */
export function noneFree(): DatabaseError {
  return new DatabaseError(
    'DATABASE_QUEUE_FULL',
    'capacity',
    `No connection came free within ${ACQUIRE_TIMEOUT_MS / 1000} s. Keep transactions short, or ` +
      'raise connection_limit',
  )
}

/** The error of a transaction that something has committed before its end. */
export function transactionLost(): DatabaseError {
  const message =
    'Something has committed or ended this transaction before its end: its locks were ' +
    'dropped, and a part of its work is stored. ' +
    'Do not retry it: that part would be stored twice. Find what did it (a procedure that ' +
    'commits, a proxy between here and the server that ' +
    'shares or replaces connections), remove it, and compare the tables with what was to be stored'
  return new DatabaseError('DATABASE_TRANSACTION_LOST', 'usage', message)
}

/**
 * Removes all from the first quote on, since a value may hold quotes. A name at the very end stays.
 */
export function withoutValues(message: string): string {
  const first = message.search(/['"`]/)
  if (first === -1) return message
  const name = /( for (?:key|column) ['`][\w.`]+['`](?: at row \d+)?)$/.exec(message)?.[1] ?? ''
  return `${message.slice(0, first)}'…'${name}`
}
