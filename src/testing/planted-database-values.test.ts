import { DatabaseError, type SqlValue } from '../database/database.js'
import {
  binding,
  type DatabaseFault,
  everywhere,
  failing,
  inTransactionsOnly,
  reading,
  testPlantedSqlite,
} from './planted-databases.fixture.js'

const TEXT = 'text comes back: quotes, backslashes, line ends, emoji'
const NUL = 'text that is no UTF-8 is replaced; NUL does not cut it'
const BUFFERS = 'Buffers come back byte for byte'
const NUMBERS = 'whole numbers are bound as integers, others as they are'
const INTEGERS = 'integers, and sums, are exact: numbers while safe, then bigints'
const TOO_BIG = 'an integer too big for its column is refused as data, not cut'
const WRONG = 'wrong, missing or extra values are a TypeError that does not show them'
const MANY = 'takes 1,000 rows of 1 KB in one statement, and gives them back'
const MATCHED = 'says how many rows a change has matched'
const ERRORS = 'errors have a category, and show no value'
const LONGEST = 'a statement of maxStatementBytes is taken, and a longer one is data'
const inTx = (sentence: string) => `${sentence}, in a transaction`

const asText = (value: SqlValue) => (typeof value === 'bigint' ? String(value) : value)
const withValues = failing((error, values) =>
  error instanceof DatabaseError
    ? new DatabaseError(error.code, error.category, `${error.message}: ${values.join()}`)
    : error,
)
const withCause = failing((error, values) =>
  error instanceof DatabaseError
    ? new DatabaseError(error.code, error.category, error.message, { cause: { values } })
    : error,
)
const inCategory = (from: string, to: 'data' | 'usage') =>
  failing((error) =>
    error instanceof DatabaseError && error.category === from
      ? new DatabaseError(error.code, to, error.message)
      : error,
  )

const FAULTS: Readonly<Record<string, DatabaseFault>> = {
  'text: trimmed': [TEXT, everywhere(reading((v) => (typeof v === 'string' ? v.trim() : v)))],
  'text: an empty one is NULL': [TEXT, everywhere(binding((v) => (v === '' ? null : v)))],
  'text: line ends are made the same': [
    TEXT,
    everywhere(binding((v) => (typeof v === 'string' ? v.replaceAll('\r\n', '\n') : v))),
  ],
  'text: latin1': [
    TEXT,
    everywhere(
      binding((v) => (typeof v === 'string' ? Buffer.from(v, 'latin1').toString('latin1') : v)),
    ),
  ],
  'text: NUL cuts it': [
    NUL,
    everywhere(binding((v) => (typeof v === 'string' ? (v.split('\0')[0] ?? '') : v))),
  ],
  'text: NUL cuts it in a transaction': [
    inTx(NUL),
    inTransactionsOnly(binding((v) => (typeof v === 'string' ? (v.split('\0')[0] ?? '') : v))),
  ],
  'Buffers: come back as plain bytes': [
    BUFFERS,
    everywhere(reading((v) => (Buffer.isBuffer(v) ? new Uint8Array(v) : v))),
  ],
  'Buffers: come back as text, in a transaction': [
    inTx(BUFFERS),
    inTransactionsOnly(reading((v) => (Buffer.isBuffer(v) ? v.toString('latin1') : v))),
  ],
  'integers: beyond 2^53-1 as floats': [
    INTEGERS,
    everywhere(reading((v) => (typeof v === 'bigint' ? Number(v) : v))),
  ],
  'integers: beyond 2^53-1 as text': [INTEGERS, everywhere(reading(asText))],
  'integers: as text in a transaction': [
    inTx(INTEGERS),
    inTransactionsOnly(reading((v) => (typeof v === 'number' ? String(v) : v))),
  ],
  'integers: all as bigints': [
    INTEGERS,
    everywhere(reading((v) => (typeof v === 'number' ? BigInt(v) : v))),
  ],
  'numbers: without their fractions': [
    NUMBERS,
    everywhere(binding((v) => (typeof v === 'number' ? Math.trunc(v) : v))),
  ],
  'integers: too big ones wrap': [
    TOO_BIG,
    everywhere(binding((v) => (typeof v === 'bigint' ? BigInt.asIntN(64, v) : v))),
  ],
  'values: a wrong one is NULL': [
    WRONG,
    everywhere(
      binding((v) =>
        v === null || ['string', 'number', 'bigint'].includes(typeof v) || Buffer.isBuffer(v)
          ? v
          : null,
      ),
    ),
  ],
  'values: extra ones are ignored, in a transaction': [
    inTx(WRONG),
    inTransactionsOnly(
      (query) =>
        (sql, values = []) =>
          query(sql, sql === 'SELECT ?' ? values.slice(0, 1) : values),
    ),
  ],
  'values: at most 999 of them': [
    MANY,
    everywhere((query) => async (sql, values = []) => {
      if (values.length > 999) throw new DatabaseError('SQLITE_ERROR', 'data', 'too many')
      return query(sql, values)
    }),
  ],
  'rows: text is cut at 500 characters': [
    MANY,
    everywhere(binding((v) => (typeof v === 'string' ? v.slice(0, 500) : v))),
  ],
  'rows: all with the text of the first': [
    MANY,
    everywhere((query) => async (...given) => {
      const { rows, affectedRows } = await query(...given)
      const [first] = rows
      return {
        rows: rows.map((row) => ({ ...row, ...(first && 's' in first && { s: first['s']! }) })),
        affectedRows,
      }
    }),
  ],
  'rows: only the first 500': [
    MANY,
    everywhere((query) => async (...given) => {
      const { rows, affectedRows } = await query(...given)
      return { rows: rows.slice(0, 500), affectedRows }
    }),
  ],
  'affected rows: those that were matched and did not change are left out': [
    MATCHED,
    everywhere((query) => async (sql, values) => {
      const { rows, affectedRows } = await query(sql, values)
      return { rows, affectedRows: sql.includes('SET n = n ') ? 0 : affectedRows }
    }),
  ],
  'affected rows: always 0 in a transaction': [
    inTx(MATCHED),
    inTransactionsOnly((query) => async (...given) => ({
      rows: (await query(...given)).rows,
      affectedRows: 0,
    })),
  ],
  'rows: a change has its count as a row': [
    MATCHED,
    everywhere((query) => async (sql, values) => {
      const { rows, affectedRows } = await query(sql, values)
      return { rows: sql.startsWith('UPDATE') ? [{ affectedRows }] : rows, affectedRows }
    }),
  ],
  "errors: the driver's own": [ERRORS, everywhere(failing(({ message }) => new Error(message)))],
  'errors: with values': [ERRORS, everywhere(withValues)],
  'errors: with values in a transaction': [inTx(ERRORS), inTransactionsOnly(withValues)],
  'errors: with values in the cause': [ERRORS, everywhere(withCause)],
  'errors: data as usage': [ERRORS, everywhere(inCategory('data', 'usage'))],
  'errors: usage as data': [ERRORS, everywhere(inCategory('usage', 'data'))],
  'errors: usage as data, in a transaction': [
    inTx(ERRORS),
    inTransactionsOnly(inCategory('usage', 'data')),
  ],
  'maxStatementBytes: not given': [LONGEST, () => ({ maxStatementBytes: undefined as never })],
  'maxStatementBytes: of any length': [LONGEST, () => ({ maxStatementBytes: Infinity })],
}

testPlantedSqlite(FAULTS)
