/**
 * Identity of a database, in its table `wide_cache_identity`. Its id is for good: a process that
 * may use several hosts compares it to check that another host has the same database. Its namespace
 * begins its keys in every cache, and is replaced where another database uses it, too.
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { DatabaseError, type Queryable, type SqlRow } from './database.js'
import { execute, raw } from './sql.js'
import { table } from './table.js'

/** Part of the package with its tables. All other parts need it. */
export const IDENTITY = 'identity'

const NAMESPACE_BYTES = 16
const SECRET_BYTES = 32

/** Marks that are kept, at least: more than a day's. */
const MARKS_KEPT = 50_000

const IDENTITIES = table('wide_cache_identity', ['only_row'], 'id', 'namespace', 'secret')
const MARKS = table('wide_cache_marks', ['mark'])

/** Gives the database an identity, if it has none. */
export async function enterIdentity(queryable: Queryable): Promise<void> {
  const { rows } = await execute(queryable)`SELECT id FROM wide_cache_identity`
  if (rows.length > 0) return
  await IDENTITIES.insert(queryable, [
    [1, randomUUID(), randomBytes(NAMESPACE_BYTES), randomBytes(SECRET_BYTES)],
  ])
}

/** The id of the database; `undefined` before it has been migrated. */
export async function databaseId(query: Queryable['query']): Promise<string | undefined> {
  try {
    const {
      rows: [row],
    } = await query('SELECT id FROM wide_cache_identity')
    return row && String(row['id'])
  } catch (error) {
    // There is no table yet.
    if (error instanceof DatabaseError && error.category === 'usage') return undefined
    throw error
  }
}

/** The namespace of the database in caches. */
export async function namespaceOf(queryable: Queryable): Promise<Buffer> {
  return bytesOf(await onlyRow(queryable, 'namespace'), 'namespace')
}

/** The secret of the database. No cache has it. */
export async function secretOf(queryable: Queryable): Promise<Buffer> {
  return bytesOf(await onlyRow(queryable, 'secret'), 'secret')
}

/** Gives the database another namespace. `false`: it no longer has that which was read. */
export async function replaceNamespace(
  queryable: Queryable,
  read: Buffer,
  next: Buffer,
): Promise<boolean> {
  const { affectedRows } = await execute(queryable)`UPDATE wide_cache_identity
    SET namespace = ${next} WHERE only_row = 1 AND namespace = ${read}`
  return affectedRows === 1
}

/** Records a mark, before a cache has it. */
export async function enterMark(queryable: Queryable, mark: Buffer): Promise<void> {
  await MARKS.insert(queryable, [[mark]])
}

/** Identity and marks of the database, as one statement has found them. */
export interface MarksFound {
  readonly namespace: Buffer
  /** The marks among those asked for that this database has put into caches, in hexadecimal. */
  readonly own: ReadonlySet<string>
  /** Number of the newest of them; 0: none. */
  readonly newest: number
}

/** Asks for the namespace, and which of some marks are the database's own. */
export async function ownMarks(
  queryable: Queryable,
  marks: readonly string[],
): Promise<MarksFound> {
  // An empty list is no list in MySQL.
  const wanted =
    marks.length === 0 ? [Buffer.alloc(0)] : marks.map((mark) => Buffer.from(mark, 'hex'))
  const { rows } = await execute(queryable)`SELECT i.namespace, m.number, m.mark
    FROM wide_cache_identity AS i LEFT JOIN wide_cache_marks AS m ON m.mark IN (${wanted})`
  const found = rows.filter(({ mark }) => mark !== null)
  return {
    namespace: rows[0] ? bytesOf(rows[0], 'namespace') : await namespaceOf(queryable),
    own: new Set(found.map((row) => bytesOf(row, 'mark').toString('hex'))),
    newest: Math.max(0, ...found.map(({ number }) => Number(number))),
  }
}

/** Removes marks that are so old that no cache shows them. `newest`: number of a new one. */
export async function removeOldMarks(queryable: Queryable, newest: number): Promise<void> {
  await execute(queryable)`DELETE FROM wide_cache_marks WHERE number < ${newest - MARKS_KEPT}`
}

async function onlyRow(queryable: Queryable, column: string): Promise<SqlRow> {
  const ask = async (): Promise<SqlRow | undefined> =>
    (await execute(queryable)`SELECT ${raw(column)} FROM wide_cache_identity`).rows[0]
  const row = await ask()
  if (row) return row
  // Somebody has emptied the table.
  await enterIdentity(queryable)
  const entered = await ask()
  assert(entered, 'the table wide_cache_identity has one row')
  return entered
}

function bytesOf(row: SqlRow, column: string): Buffer {
  const value = row[column]
  assert(Buffer.isBuffer(value), `${column} is binary`)
  return value
}
