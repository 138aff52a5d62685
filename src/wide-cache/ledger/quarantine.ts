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
const MAX_UNREADABLE_BYTES = 1024 * 1024

/** Content for the quarantine. */
export interface Refused {
  readonly name: string
  /** The frame; not given: the bytes are no frame of the kind of the name. */
  readonly frame?: Pick<Frame, 'writer' | 'sequence' | 'rowCount'>
  readonly bytes: Buffer
  readonly reason: string
}

/** Keeps what is refused: a frame, within the transaction that settles it. */
export async function keepRefused(
  queryable: Queryable,
  { name, frame, bytes, reason }: Refused,
  now: number,
): Promise<void> {
  const room = Math.floor((queryable.maxStatementBytes - STATEMENT_BYTES) / 2)
  const size = Math.max(LEAST_PIECE_BYTES, Math.min(MAX_PIECE_BYTES, room))
  const writer = frame ? Buffer.from(frame.writer, 'hex') : null
  const kept = frame ? bytes : bytes.subarray(0, MAX_UNREADABLE_BYTES)
  for (let piece = 0; piece * size < kept.length; piece++) {
    await QUARANTINE.insert(queryable, [
      [
        name,
        writer,
        frame?.sequence ?? null,
        piece,
        piece === 0 ? (frame?.rowCount ?? 0) : 0,
        piece === 0 ? reason.slice(0, MAX_REASON) : '',
        kept.subarray(piece * size, (piece + 1) * size),
        now,
      ],
    ])
  }
}
