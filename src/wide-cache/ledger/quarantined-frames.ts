/**
 * Lists, commits and drops the frames in quarantine, for operators. A frame is committed or dropped
 * in the transaction that removes it, so each happens once, and the ledger's sums always add up.
 */
import type { Database, Queryable, SqlRow, SqlValue, Transaction } from '../../database/database.js'
import { forUpdate } from '../../database/dialect.js'
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
  const { rows } = await database.query(
    'SELECT id, name, writer, sequence, row_count, reason, created_at ' +
      'FROM wide_cache_quarantine WHERE (piece = 0 OR writer IS NULL) AND id BETWEEN ? AND ?' +
      `${name === undefined ? '' : ' AND name = ?'} ORDER BY id LIMIT ?`,
    [from, to, ...(name === undefined ? [] : [name]), limit],
  )
  return rows.map(frameIn)
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
  const [place, values] = keyOf(frame)
  const { rows } = await queryable.query(
    `SELECT bytes FROM wide_cache_quarantine WHERE ${place} ORDER BY piece${lock}`,
    values,
  )
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
  const { frames, foreign } = readCell(bytes, stampOf(kind))
  const [frame, ...others] = frames
  if (
    !frame ||
    others.length > 0 ||
    foreign.length > 0 ||
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
    const [place, values] = keyOf(frame)
    await tx.query(`DELETE FROM wide_cache_quarantine WHERE ${place}`, values)
    if (!writer) return rowCount
    await tx.query(
      `UPDATE wide_cache_writers SET quarantined = quarantined - ?, ${outcome} = ${outcome} + ? ` +
        'WHERE name = ? AND writer = ?',
      [rowCount, rowCount, name, writer],
    )
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
    const { rows } = await tx.query(
      'SELECT writer FROM wide_cache_writers ' +
        `WHERE name = ? AND writer = ?${forUpdate(tx.dialect)}`,
      [name, id],
    )
    if (rows.length > 0) return id
  }
  return undefined
}

/** Returns the condition that finds all rows of SQL that a frame is in, and its values. */
function keyOf({ id, name, writer, sequence }: QuarantinedFrame): [string, SqlValue[]] {
  return writer === null || sequence === null
    ? ['id = ?', [id]]
    : ['name = ? AND writer = ? AND sequence = ?', [name, writer, sequence]]
}

function frameIn(row: SqlRow): QuarantinedFrame {
  const { writer, sequence } = row
  return {
    id: Number(row['id']),
    name: String(row['name']),
    writer: Buffer.isBuffer(writer) ? writer : null,
    sequence: sequence === null ? null : Number(sequence),
    rowCount: Number(row['row_count']),
    reason: String(row['reason']),
    createdAt: Number(row['created_at']),
  }
}
