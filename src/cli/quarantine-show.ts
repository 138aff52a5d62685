/** Prints frames for `wide-cache quarantine`. */
import type { Database } from '../database/database.js'
import { idText } from '../support/id-text.js'
import { printable, printableJson } from '../support/printable.js'
import {
  bytesOf,
  frameInQuarantine,
  framesInQuarantine,
  type QuarantinedFrame,
} from '../wide-cache/ledger/quarantined-frames.js'
import { RowsError } from '../wide-cache/ledger/rows.js'
import type { CommandLog } from './log.js'
import { type FrameKind, kindOfFrame } from './row-kinds.js'
import { counted, isoOf, table } from './table.js'

/** Frames that are listed. */
const MAX_LISTED = 1_000

/** Rows of a frame that are shown. */
const MAX_ROWS_SHOWN = 20

/** Bytes shown of a frame that cannot be decoded. */
const MAX_BYTES_SHOWN = 256

/** The database, the frames that the command is about, and its outputs. */
export interface Shown {
  readonly database: Database
  readonly name: string | undefined
  readonly json: boolean
  readonly log: CommandLog
  readonly print: (text: string) => void
}

/** Prints the oldest frames. */
export async function listFrames({ database, name, json, log, print }: Shown): Promise<void> {
  const found = await framesInQuarantine(database, { name, limit: MAX_LISTED + 1 })
  const listed = found.slice(0, MAX_LISTED).map(shown)
  if (json) print(`${printableJson(listed)}\n`)
  else if (listed.length > 0) {
    print(
      table([
        ['ID', 'NAME', 'ROWS', 'SINCE', 'REASON'],
        ...listed.map(({ id, name, rows, since, reason }) => [id, name, rows, since, reason]),
      ]),
    )
  }
  if (listed.length === 0) log.info('wide-cache: nothing is in quarantine')
  if (found.length > listed.length) {
    log.info(`wide-cache: only the oldest ${counted(MAX_LISTED)} are listed; there are more`)
  }
}

/** Prints a frame and its first rows. Returns whether it is there. */
export async function showFrame(
  { database, name, json, log, print }: Shown,
  id: number,
): Promise<boolean> {
  const frame = await frameInQuarantine(database, id, name)
  if (!frame) {
    log.warn(`wide-cache: quarantine has no frame ${id}`, { id })
    return false
  }
  const bytes = await bytesOf(database, frame)
  const kind = await kindOfFrame(database, frame, log)
  const told = { ...shown(frame), kind: kind.kind || null, bytes: bytes.length }
  const { content, more } = contentOf(kind, bytes)
  if (json) {
    print(`${printableJson({ ...told, content, more })}\n`)
    return true
  }
  print(table(Object.entries(told).map(([key, value]) => [key, String(value ?? 'none')])))
  for (const row of content) {
    print(`${printable(typeof row === 'string' ? row : JSON.stringify(row))}\n`)
  }
  if (more > 0) print(`and ${counted(more)} more\n`)
  return true
}

/** The first rows of a frame, or its first bytes, and how many more there are. */
function contentOf(
  { rowsIn }: FrameKind,
  bytes: Buffer,
): { content: (object | string)[]; more: number } {
  try {
    const rows = rowsIn(bytes)
    const content = rows.slice(0, MAX_ROWS_SHOWN)
    return { content, more: rows.length - content.length }
  } catch (error) {
    if (!(error instanceof RowsError)) throw error
    const first = bytes.subarray(0, MAX_BYTES_SHOWN)
    return { content: [first.toString('hex')], more: bytes.length - first.length }
  }
}

/** A frame as it is printed. */
function shown({
  id,
  name,
  writer,
  sequence,
  rowCount: rows,
  reason,
  createdAt,
}: QuarantinedFrame) {
  return {
    id,
    name,
    writer: writer && idText(writer),
    sequence,
    rows,
    // Pieces of bytes that are no frame: only the first one has it.
    reason: reason || 'bytes that are no frame of its kind',
    since: isoOf(createdAt),
  }
}
