/**
 * The rows that the tests on real servers record, and the wide cache that all their processes
 * share.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Cache } from '../../src/cache/cache.js'
import type { Database, Queryable, Transaction } from '../../src/database/database.js'
import type { WideCacheOptions } from '../../src/wide-cache/options.js'
import type { LedgerReport } from '../../src/wide-cache/ledger/report.js'
import type { Environment } from '../../src/support/environment.js'
import { openEngine } from '../../src/wide-cache/row-recorder.fixture.js'
import type { RowRecorder } from '../../src/wide-cache/wide-cache.js'

/** A row: which writer, and its number there. */
export interface Recorded {
  readonly writer: number
  readonly number: number
}

/** Servers that a process's rows travel through. */
export interface Assignment {
  readonly cache: string | Cache
  readonly database: string | Database
  /** A collector's schedule, or `false`. */
  readonly collect: string | false
}

export type RecordedOptions = Partial<WideCacheOptions<Recorded, number>>

/** The name that all processes give. */
export const NAME = 'recorded'

/** Rows of one INSERT. */
const ROWS_A_STATEMENT = 1000

/**
 * Opens it with layers and waits as short as the options allow, so that a fault and its healing fit
 * into a test.
 */
export function openRecorded(
  ...args: Parameters<typeof openRecordedEngine>
): RowRecorder<Recorded, number> {
  return openRecordedEngine(...args).wide
}

/** The same, with its engine. */
export function openRecordedEngine(
  assignment: Assignment,
  options: RecordedOptions = {},
  environment?: Environment,
) {
  return openEngine<Recorded, number>(
    {
      name: NAME,
      layerSeconds: 1,
      drainAfterLayers: 2,
      confirmSeconds: 28,
      logger: {
        info() {},
        warn: (message) => process.stderr.write(`${message}\n`),
        error: (message) => process.stderr.write(`${message}\n`),
      },
      commit: insertRecorded,
      ...assignment,
      ...options,
    },
    environment,
  )
}

/** Inserts rows into the table of {@link createRecorded}. */
export async function insertRecorded(rows: readonly Recorded[], tx: Transaction): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS_A_STATEMENT) {
    const part = rows.slice(at, at + ROWS_A_STATEMENT)
    await tx.query(
      `INSERT INTO recorded (writer, number) VALUES ${part.map(() => '(?, ?)').join(', ')}`,
      part.flatMap(({ writer, number }) => [writer, number]),
    )
  }
}

/** Makes the table. It takes a row twice, so that a row committed twice is seen. */
export async function createRecorded(sql: Queryable): Promise<void> {
  await sql.query(
    sql.dialect === 'mysql'
      ? 'CREATE TABLE recorded (id BIGINT AUTO_INCREMENT PRIMARY KEY, writer INT NOT NULL, ' +
          'number INT NOT NULL) ENGINE=InnoDB'
      : 'CREATE TABLE recorded (id INTEGER PRIMARY KEY, writer INTEGER NOT NULL, number ' +
          'INTEGER NOT NULL)',
  )
}

/** Rows `from` to `to - 1` of a writer. */
export function rowsOf(writer: number, from: number, to: number): Recorded[] {
  return Array.from({ length: to - from }, (_, i) => ({ writer, number: from + i }))
}

/** Returns how many rows SQL has. */
export async function countRecorded(sql: Queryable): Promise<number> {
  const { rows } = await sql.query('SELECT COUNT(*) AS n FROM recorded')
  return Number(rows[0]?.['n'])
}

/** Expects exactly these rows in SQL, each once. */
export async function assertRecorded(
  sql: Queryable,
  expected: readonly Recorded[],
  where = 'SQL',
): Promise<void> {
  const { rows } = await sql.query(
    'SELECT writer, number, COUNT(*) AS n FROM recorded GROUP BY writer, number',
  )
  const found = new Map(rows.map((row) => [`${row['writer']}/${row['number']}`, Number(row['n'])]))
  const wanted = new Set(expected.map(({ writer, number }) => `${writer}/${number}`))
  const report = {
    missing: [...wanted].filter((row) => !found.has(row)).length,
    twice: [...found.values()].filter((n) => n > 1).length,
    foreign: [...found.keys()].filter((row) => !wanted.has(row)).length,
  }
  assert.deepEqual(
    report,
    { missing: 0, twice: 0, foreign: 0 },
    `${where} was to have each of ${wanted.size} rows once, and no other`,
  )
}

/**
 * Expects a ledger of which all `committed` rows are in SQL and nothing else is said, but for
 * `others`.
 */
export function assertLedger(
  ledger: LedgerReport,
  committed: number,
  others: Partial<LedgerReport> = {},
): void {
  const { quarantined = 0, dropped = 0, outstanding = 0, owed = 0, lost = 0 } = others
  const { duplicate, ...sums } = ledger
  assert.deepEqual(sums, {
    issued: committed + quarantined + dropped + outstanding + owed + lost,
    committed,
    quarantined,
    dropped,
    outstanding,
    owed,
    lost,
  })
  if (others.duplicate !== undefined) assert.equal(duplicate, others.duplicate)
}

/** A grid name that no other test uses: many share a memcached. */
export function uniqueName(): string {
  return `t-${randomUUID().slice(0, 18)}`
}

/** The assignment in this process's environment. */
export function assignment(): Assignment & { writer: number; rows: number } {
  const given = process.env['ASSIGNMENT']
  if (!given) throw new Error('this process is started by a test')
  return JSON.parse(given) as Assignment & { writer: number; rows: number }
}
