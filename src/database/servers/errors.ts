/** Errors that any database server may cause, whichever driver reports them. */
import { isTlsError } from '../../support/tls-error.js'
import { DatabaseError } from '../database.js'
import { ACQUIRE_TIMEOUT_MS, QUEUE_LIMIT } from './limits.js'
import type { ErrorRead, ErrorWords } from './product.js'
import { withRemedy } from './said.js'

/** Code of an answer that did not come in time. */
export const SILENCE = 'ETIMEDOUT'

/** Tells whether an answer did not come in time. */
export function isSilence(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.code === SILENCE
}

/**
 * Errors of a server that takes no writes, is offline, or has lost its cluster or group. After a
 * failover the old primary may live on, and a connection to it never recovers.
 */
const WRONG_SERVER = new Set([
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
  'ER_READ_ONLY_MODE',
  'ER_UNKNOWN_COM_ERROR',
  'ER_SERVER_OFFLINE_MODE',
  'ER_RUN_HOOK_ERROR',
  'ER_GRP_TRX_CONSISTENCY_NOT_ALLOWED',
  'ER_GRP_TRX_CONSISTENCY_BEFORE',
  '25006',
])

/** Tells whether the server is read-only, offline, or no longer part of its cluster. */
export function isWrongServer(error: unknown): boolean {
  return error instanceof DatabaseError && WRONG_SERVER.has(error.code)
}

/**
 * Tells whether the other connections to the server are likely to have the same fault: it is the
 * wrong server, or silent.
 */
export function condemnsOthers(error: unknown): boolean {
  return isWrongServer(error) || isSilence(error)
}

/**
 * Translates an error of a driver. Its message may quote values and statements, so a message of the
 * server keeps its quotes only where they are known to hold names, and there is no `cause`.
 */
export function translated(words: ErrorWords, error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error
  const { code, category, message, isServers } = words.read(error)
  if (!isServers) return new DatabaseError(code, category, message)
  const shown = words.quotesNames(code) ? message : withoutValues(message)
  return new DatabaseError(code, category, withRemedy(`${code}: ${shown}`, words.said(code)))
}

/** TLS that is not there or not trusted, a password that is missing: these do not pass. */
const USAGE = /^(?:HANDSHAKE_|AUTH_|ERR_)/
const SAYS_USAGE = /SSL connections|SASL|password must be|client password/i

/** Reads an error of the client, or of the network. `lost`: code of one that has none. */
export function clientError(code: string | undefined, message: string, lost: string): ErrorRead {
  const isUsage = USAGE.test(code ?? '') || isTlsError(code) || SAYS_USAGE.test(message)
  return {
    code: code ?? (isUsage ? 'DATABASE_CLIENT' : lost),
    category: isUsage ? 'usage' : 'unreachable',
    message,
    isServers: false,
  }
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
function withoutValues(message: string): string {
  const first = message.search(/['"`]/)
  if (first === -1) return message
  const name = /( for (?:key|column) ['`][\w.`]+['`](?: at row \d+)?)$/.exec(message)
  // The first quote may be the name's own.
  if (name && name.index < first) return message
  return `${message.slice(0, first)}'…'${name?.[1] ?? ''}`
}
