/** The rows of frames: decoded by their codec, and committed by `commit` of their kind. */
import { DatabaseError, type Transaction } from '../../database/database.js'
import { execute } from '../../database/sql.js'
import type { Codec } from '../../support/codec.js'
import type { CommitContext } from '../contexts.js'
import { type Frame, rowsOf } from '../frame.js'

/** An error of the rows themselves, as they were decoded or committed. */
export class RowsError extends Error {
  override readonly name = 'RowsError'
}

/** Stores rows within the transaction that settles their frames. */
export type Commit<Row> = (rows: Row[], tx: Transaction, context: CommitContext) => Promise<void>

/** Decodes the rows of a frame. @throws RowsError */
export function decodeRows<Row>(frame: Frame, codec: Codec<Row>): Row[] {
  try {
    return rowsOf(frame).map((row) => codec.decode(row))
  } catch (error) {
    throw new RowsError('a row that its codec cannot read', { cause: error })
  }
}

/** @throws RowsError, DatabaseError */
export async function commitRows<Row>(
  commit: Commit<Row>,
  rows: Row[],
  tx: Transaction,
  context: CommitContext,
): Promise<void> {
  try {
    await commit(rows, tx, context)
  } catch (error) {
    if (error instanceof DatabaseError) throw error
    // Where a statement has failed, its error says whether the rows are to blame, whatever
    // commit() made of it.
    await execute(tx)`SELECT 1`
    throw new RowsError('commit() threw', { cause: error })
  }
}
