/**
 * Lists, commits and drops the frames in quarantine, for operators. A frame is committed or dropped
 * in the transaction that removes it, so each happens once, and the ledger's sums always add up.
 */
import type { Database, Queryable, Transaction } from '../../database/database.js'
import { forUpdate } from '../../database/dialect.js'
import {
  bytesOrNull,
  execute,
  numberOrNull,
  raw,
  select,
  type Sql,
  sql,
} from '../../database/sql.js'
import type { Codec } from '../../support/codec.js'
import { readCell, stampOf } from '../frame.js'
import { FORGOTTEN } from './ledger.js'
import { type Commit, commitRows, decodeRows, RowsError } from './rows.js'

/** A frame in quarantine, or a piece of bytes that are no frame. */
export interface QuarantinedFrame {
  /** Unique id. */
  readonly id: number
  /** The name of the wide cache. */
  readonly name: string
  /** The writer's id; `null` where the bytes are no frame. */
  readonly writer: Buffer | null
  readonly sequence: number | null
  readonly rowCount: number
  readonly reason: string
  /** Milliseconds since the Unix epoch, by the database's clock. */
  readonly createdAt: number
}

const FRAME = {
  id: Number,
  name: String,
  writer: bytesOrNull,
  sequence: numberOrNull,
  rowCount: Number,
  reason: String,
  createdAt: Number,
}

/** Codec and `commit` for the rows of a kind. */
export interface RowKind<Row> {
  readonly kind: string
  readonly codec: Codec<Row>
  readonly commit: Commit<Row>
}

/**
 * Returns the frames in quarantine with ids from `from` to `to`, in ascending order. A large frame
 * is in several rows of SQL, and has the id of the first.
 */
export async function framesInQuarantine(
  database: Database,
  {
    name,
    from = 0,
    to = Number.MAX_SAFE_INTEGER,
    limit,
  }: { name?: string | undefined; from?: number; to?: number; limit: number },
): Promise<QuarantinedFrame[]> {
  const ofName = name === undefined ? raw('') : sql`AND name = ${name}`
  return select(database, FRAME)`FROM wide_cache_quarantine WHERE (piece = 0 OR writer IS NULL)
    AND id BETWEEN ${from} AND ${to} ${ofName} ORDER BY id LIMIT ${limit}`
}

/** Returns one of them. `undefined`: it is not, or no longer, there under that name. */
export async function frameInQuarantine(
  database: Database,
  id: number,
  name?: string,
): Promise<QuarantinedFrame | undefined> {
  const [frame] = await framesInQuarantine(database, { name, from: id, to: id, limit: 1 })
  return frame
}

/** Returns all bytes of a frame in quarantine. None: it is no longer there. */
export async function bytesOf(
  queryable: Queryable,
  frame: QuarantinedFrame,
  lock = '',
): Promise<Buffer> {
  const { rows } = await execute(queryable)`SELECT bytes FROM wide_cache_quarantine
    WHERE ${keyOf(frame)} ORDER BY piece${raw(lock)}`
  return Buffer.concat(rows.map(({ bytes }) => (Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0))))
}

/**
 * Commits a frame as a collector would, and removes it from quarantine, in one transaction. Returns
 * its number of rows; `undefined`: it has been committed or dropped elsewhere.
 *
 * @throws RowsError, DatabaseError `data`: its rows are still refused, and it stays. DatabaseError
 */
export function retryFrame<Row>(
  database: Database,
  frame: QuarantinedFrame,
  kind: RowKind<Row>,
): Promise<number | undefined> {
  return remove(database, frame, 'committed', async (tx, bytes, writer) => {
    if (!writer) throw new RowsError('the ledger does not know its writer')
    const { name } = frame
    const rows = rowsInFrame(frame, bytes, kind)
    await commitRows(kind.commit, rows, tx, { now: await tx.now(), name })
  })
}

/**
 * Removes a frame from quarantine. Its rows count as lost from then on: `issued` stays the sum,
 * since no row was refused by its writer. Returns its number of rows; `undefined`: it has been
 * committed or dropped elsewhere.
 */
export function dropFrame(
  database: Database,
  frame: QuarantinedFrame,
): Promise<number | undefined> {
  return remove(database, frame, 'lost', () => Promise.resolve())
}

/** Decodes the rows of a frame in quarantine. @throws RowsError */
export function rowsInFrame<Row>(
  { writer, sequence }: QuarantinedFrame,
  bytes: Buffer,
  { kind, codec }: Pick<RowKind<Row>, 'kind' | 'codec'>,
): Row[] {
  const { frames, unreadable } = readCell(bytes, stampOf(kind))
  const [frame, ...others] = frames
  if (
    !frame ||
    others.length > 0 ||
    unreadable.length > 0 ||
    writer === null ||
    frame.writer !== writer.toString('hex') ||
    frame.sequence !== sequence
  ) {
    throw new RowsError(`bytes that are no frame of kind "${kind}"`)
  }
  return decodeRows(frame, codec)
}

/**
 * Removes a frame from quarantine in one transaction. Its rows leave the quarantined ones of its
 * writer, and join the committed or the lost ones. `before` has its bytes, and its writer as
 * {@link lockWriter} finds it. Returns its number of rows; `undefined`: it is no longer there.
 */
function remove(
  database: Database,
  frame: QuarantinedFrame,
  outcome: 'committed' | 'lost',
  before: (tx: Transaction, bytes: Buffer, writer: Buffer | undefined) => Promise<void>,
): Promise<number | undefined> {
  const { name, rowCount } = frame
  return database.transaction(async (tx) => {
    const writer = await lockWriter(tx, frame)
    const bytes = await bytesOf(tx, frame, forUpdate(tx.dialect))
    if (bytes.length === 0) return undefined
    await before(tx, bytes, writer)
    await execute(tx)`DELETE FROM wide_cache_quarantine WHERE ${keyOf(frame)}`
    if (!writer) return rowCount
    const sum = raw(outcome)
    await execute(tx)`UPDATE wide_cache_writers SET quarantined = quarantined - ${rowCount},
      ${sum} = ${sum} + ${rowCount} WHERE name = ${name} AND writer = ${writer}`
    return rowCount
  })
}

/**
 * Locks the row of the ledger that has the sums of a frame's writer, before anything else, as in
 * every transaction that settles frames. Returns the writer of that row. If the frame's writer has
 * been forgotten, this is the one that has the sums of all forgotten writers. `undefined`: the
 * bytes are no frame, or the ledger was changed by hand.
 */
async function lockWriter(
  tx: Transaction,
  { name, writer }: QuarantinedFrame,
): Promise<Buffer | undefined> {
  if (writer === null) return undefined
  for (const id of [writer, FORGOTTEN]) {
    const { rows } = await execute(tx)`SELECT writer FROM wide_cache_writers WHERE name = ${name}
      AND writer = ${id}${raw(forUpdate(tx.dialect))}`
    if (rows.length > 0) return id
  }
  return undefined
}

/** Returns the condition that finds all rows of SQL that a frame is in. */
function keyOf({ id, name, writer, sequence }: QuarantinedFrame): Sql {
  return writer === null || sequence === null
    ? sql`id = ${id}`
    : sql`name = ${name} AND writer = ${writer} AND sequence = ${sequence}`
}
