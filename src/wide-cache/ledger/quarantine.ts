/**
 * Keeps frames that SQL refuses, and bytes that are no frame, as they came in, for a person to look
 * at. This must always succeed, or one bad frame would stop the grid. So they are written in pieces
 * that fit the server's packets.
 */
import type { Queryable } from '../../database/database.js'
import { table } from '../../database/table.js'
import type { Frame } from '../frame.js'

const QUARANTINE = table(
  'wide_cache_quarantine',
  ['name', 'writer', 'sequence', 'piece'],
  'row_count',
  'reason',
  'bytes',
  'created_at',
)

/** Longest reason, in characters. */
const MAX_REASON = 500

/** Most bytes of a piece: less than a MEDIUMBLOB takes. */
const MAX_PIECE_BYTES = 4 * 1024 * 1024

/** Least bytes of a piece. This many fit any packet that a server can be set to. */
const LEAST_PIECE_BYTES = 100

/** Bytes of a piece's statement beside those of the piece, which are written in hexadecimal. */
const STATEMENT_BYTES = 4 * MAX_REASON + 1_000

/** Most bytes kept of what is no frame. */
const MAX_FOREIGN_BYTES = 1024 * 1024

/** Keeps a frame, within the transaction that settles it. */
export function keepFrame(
  tx: Queryable,
  name: string,
  { writer, sequence, rowCount, bytes }: Frame,
  reason: string,
  now: number,
): Promise<void> {
  return keep(tx, [name, Buffer.from(writer, 'hex'), sequence], rowCount, reason, bytes, now)
}

/** Keeps bytes that are no frame of the kind of the name. */
export function keepForeign(
  queryable: Queryable,
  name: string,
  bytes: Buffer,
  now: number,
): Promise<void> {
  return keep(
    queryable,
    [name, null, null],
    0,
    'bytes that are no frame of its kind',
    bytes.subarray(0, MAX_FOREIGN_BYTES),
    now,
  )
}

async function keep(
  queryable: Queryable,
  key: readonly [name: string, writer: Buffer | null, sequence: number | null],
  rowCount: number,
  reason: string,
  bytes: Buffer,
  now: number,
): Promise<void> {
  const room = Math.floor((queryable.maxStatementBytes - STATEMENT_BYTES) / 2)
  const size = Math.max(LEAST_PIECE_BYTES, Math.min(MAX_PIECE_BYTES, room))
  for (let piece = 0; piece * size < bytes.length; piece++) {
    const first = piece === 0
    await QUARANTINE.insert(queryable, [
      [
        ...key,
        piece,
        first ? rowCount : 0,
        first ? reason.slice(0, MAX_REASON) : '',
        bytes.subarray(piece * size, (piece + 1) * size),
        now,
      ],
    ])
  }
}

/** Returns the sequence numbers of a writer's frames that are kept. */
export async function sequencesInQuarantine(
  database: Queryable,
  name: string,
  writer: Buffer,
): Promise<ReadonlySet<number>> {
  const { rows } = await database.query(
    'SELECT sequence FROM wide_cache_quarantine WHERE name = ? AND writer = ? AND piece = 0',
    [name, writer],
  )
  return new Set(rows.map(({ sequence }) => Number(sequence)))
}
