/**
 * Errors of PostgreSQL and pg. Their messages quote values and statements (`syntax error at or near
 * "x"`), and their details show rows.
 */
import { codeOf } from '../../support/errors.js'
import type { DatabaseError } from '../database.js'
import { clientError, SILENCE, translated } from '../servers/errors.js'
import type { ErrorRead, ErrorWords } from '../servers/product.js'
import { type Said, saidOf } from '../servers/said.js'
import { SAID } from './said.js'

/** Errors whose quotes hold names of tables, columns, constraints and roles only. */
const QUOTES_NAMES = /^(?:23|42P01|42703|42804|42P07|42501|3D000|3F000|28)/

const SQLSTATE = /^[\dA-Z]{5}$/

/** Messages of pg and of its pool about an answer that did not come in time. */
const SAYS_SILENCE = /timeout expired|connection timeout/i

/** How errors of pg are read. */
export const ERRORS: ErrorWords = {
  read,
  quotesNames: (sqlState) => QUOTES_NAMES.test(sqlState),
  said,
}

/** Translates an error of pg into a DatabaseError, whose code is the SQLSTATE if it has one. */
export const postgresError = (error: unknown): DatabaseError => translated(ERRORS, error)

/** The row of the code, or that of its first two characters. */
function said(code: string): Said | undefined {
  return saidOf(SAID, code) ?? (SQLSTATE.test(code) ? saidOf(SAID, code.slice(0, 2)) : undefined)
}

function read(error: unknown): ErrorRead {
  const code = codeOf(error)
  const message = (error instanceof Error && error.message) || 'The connection was lost'
  // The server's errors have a severity, and Node's have none.
  const isServers = error instanceof Error && 'severity' in error && SQLSTATE.test(code ?? '')
  if (isServers && code !== undefined) {
    const category = said(code)?.category ?? 'usage'
    return { code, category, message, isServers }
  }
  return clientError(SAYS_SILENCE.test(message) ? SILENCE : code, message, 'ECONNRESET')
}
