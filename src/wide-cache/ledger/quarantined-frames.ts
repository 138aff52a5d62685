/**
 * Lists, commits and drops the frames in quarantine, for operators. A frame is committed or dropped
 * in the transaction that removes it, so each happens once, and the ledger's sums always add up.
 */
import {
  type Database,
  DatabaseError,
  type Queryable,
  type QueryResult,
  type SqlRow,
  type SqlValue,
  type Transaction,
} from '../../database/database.js'
import { forUpdate } from '../../database/dialect.js'
import { idOfText, idText } from '../../support/id-text.js'
import type { Codec } from '../../support/codec.js'
import { readCell, rowsOf, stampOf } from '../frame.js'
import type { CommitContext } from '../contexts.js'
import { FORGOTTEN, RowsError } from './ledger.js'

/** A frame in quarantine, or a piece of bytes that are no frame. */
export interface QuarantinedFrame {
  /** Unique id. */
  readonly id: number
  /** The name of the wide cache. */
  readonly name: string
  /** The writer's id in the text of a UUID; `undefined` where the bytes are no frame. */
  readonly writer: string | undefined
  readonly sequence: number | undefined
  readonly rowCount: number
  readonly reason: string
  /** Milliseconds since the Unix epoch, by the database's clock. */
  readonly createdAt: number
}

/** Codec and `commit` for the rows of a kind. */
export interface RowKind<Row> {
  readonly kind: string
  readonly codec: Codec<Row>
  readonly commit: (rows: Row[], tx: Transaction, context: CommitContext) => Promise<void>
}

const COLUMNS = 'id, name, writer, sequence, row_count, reason, created_at'

/** Condition for the first row of a frame, and for each row of bytes that are no frame. */
const FIRST = '(piece = 0 OR writer IS NULL)'

/**
 * Returns the contents of the quarantine with ids above `after`, in ascending order. A large frame
 * is kept in several rows of SQL, and has the id of the first.
 */
export async function framesInQuarantine(
  database: Database,
  { name, after = 0, limit }: { name?: string | undefined; after?: number; limit: number },
): Promise<QuarantinedFrame[]> {
  const { rows } = await database.query(
    `SELECT ${COLUMNS} FROM wide_cache_quarantine ` +
      `WHERE ${FIRST} AND id > ?${name === undefined ? '' : ' AND name = ?'} ` +
      'ORDER BY id LIMIT ?',
    [after, ...(name === undefined ? [] : [name]), limit],
  )
  return rows.map(frameIn)
}

/** Returns one of them, with all its bytes; `undefined`: it is no longer there. */
export async function frameInQuarantine(
  database: Database,
  id: number,
): Promise<(QuarantinedFrame & { readonly bytes: Buffer }) | undefined> {
  const {
    rows: [row],
  } = await database.query(
    `SELECT ${COLUMNS} FROM wide_cache_quarantine WHERE ${FIRST} AND id = ?`,
    [id],
  )
  if (!row) return undefined
  const frame = frameIn(row)
  const { rows } = await piecesOf(database, frame)
  return { ...frame, bytes: bytesIn(rows) }
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
  { kind, codec, commit }: RowKind<Row>,
): Promise<number | undefined> {
  return database.transaction(async (tx) => {
    const writer = await lockWriter(tx, frame)
    if (frame.writer !== undefined && !writer) {
      throw new RowsError('the ledger does not know its writer')
    }
    const { rows: pieces } = await piecesOf(tx, frame, forUpdate(tx.dialect))
    if (pieces.length === 0) return undefined
    const rows = rowsInFrame(frame, bytesIn(pieces), { kind, codec })
    await commitRows(tx, frame, rows, commit)
    await remove(tx, frame)
    await move(tx, frame.name, writer, 'committed', rows.length)
    return rows.length
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
  return database.transaction(async (tx) => {
    const writer = await lockWriter(tx, frame)
    const removed = await remove(tx, frame)
    if (removed === 0) return undefined
    await move(tx, frame.name, writer, 'lost', frame.rowCount)
    return frame.rowCount
  })
}

/** Decodes the rows of a frame in quarantine. @throws RowsError */
export function rowsInFrame<Row>(
  { writer, sequence }: QuarantinedFrame,
  bytes: Buffer,
  { kind, codec }: Pick<RowKind<Row>, 'kind' | 'codec'>,
): Row[] {
  const { frames, foreign } = readCell(bytes, stampOf(kind))
  const [frame, ...others] = frames
  if (
    !frame ||
    others.length > 0 ||
    foreign.length > 0 ||
    writer === undefined ||
    frame.writer !== idOfText(writer).toString('hex') ||
    frame.sequence !== sequence
  ) {
    throw new RowsError(`bytes that are no frame of kind "${kind}"`)
  }
  try {
    return rowsOf(frame).map((row) => codec.decode(row))
  } catch (error) {
    throw new RowsError('a row that its codec cannot read', { cause: error })
  }
}

/** @throws RowsError, DatabaseError */
async function commitRows<Row>(
  tx: Transaction,
  { name }: QuarantinedFrame,
  rows: Row[],
  commit: RowKind<Row>['commit'],
): Promise<void> {
  const now = await tx.now()
  try {
    await commit(rows, tx, { now, name })
  } catch (error) {
    throw error instanceof DatabaseError ? error : new RowsError('commit() threw', { cause: error })
  }
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
  if (writer === undefined) return undefined
  for (const id of [idOfText(writer), FORGOTTEN]) {
    const { rows } = await tx.query(
      'SELECT writer FROM wide_cache_writers ' +
        `WHERE name = ? AND writer = ?${forUpdate(tx.dialect)}`,
      [name, id],
    )
    if (rows.length > 0) return id
  }
  return undefined
}

/** Takes rows out of a writer's quarantined ones, and adds them to its committed or lost ones. */
async function move(
  tx: Transaction,
  name: string,
  writer: Buffer | undefined,
  to: 'committed' | 'lost',
  rows: number,
): Promise<void> {
  if (writer === undefined) return
  await tx.query(
    `UPDATE wide_cache_writers SET quarantined = quarantined - ?, ${to} = ${to} + ? ` +
      'WHERE name = ? AND writer = ?',
    [rows, rows, name, writer],
  )
}

/** Returns the condition that finds all rows of SQL that a frame is kept in. */
function placeOf({ id, name, writer, sequence }: QuarantinedFrame): {
  where: string
  values: SqlValue[]
} {
  return writer === undefined || sequence === undefined
    ? { where: 'id = ?', values: [id] }
    : {
        where: 'name = ? AND writer = ? AND sequence = ?',
        values: [name, idOfText(writer), sequence],
      }
}

function piecesOf(queryable: Queryable, frame: QuarantinedFrame, lock = ''): Promise<QueryResult> {
  const { where, values } = placeOf(frame)
  return queryable.query(
    `SELECT bytes FROM wide_cache_quarantine WHERE ${where} ORDER BY piece${lock}`,
    values,
  )
}

/** Removes a frame from quarantine. Returns the number of rows of SQL that it was kept in. */
async function remove(tx: Transaction, frame: QuarantinedFrame): Promise<number> {
  const { where, values } = placeOf(frame)
  const { affectedRows } = await tx.query(
    `DELETE FROM wide_cache_quarantine WHERE ${where}`,
    values,
  )
  return affectedRows
}

function frameIn(row: SqlRow): QuarantinedFrame {
  const { writer, sequence } = row
  return {
    id: Number(row['id']),
    name: String(row['name']),
    writer: Buffer.isBuffer(writer) ? idText(writer) : undefined,
    sequence: sequence === null ? undefined : Number(sequence),
    rowCount: Number(row['row_count']),
    reason: String(row['reason']),
    createdAt: Number(row['created_at']),
  }
}

function bytesIn(rows: readonly SqlRow[]): Buffer {
  return Buffer.concat(rows.map(({ bytes }) => (Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0))))
}
