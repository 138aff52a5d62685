/** Prints frames for `wide-cache quarantine`. */
import type { Database } from '../database/database.js'
import { printable, printableJson } from '../support/printable.js'
import {
  frameInQuarantine,
  framesInQuarantine,
  type QuarantinedFrame,
  rowsInFrame,
} from '../wide-cache/ledger/quarantined-frames.js'
import { RowsError } from '../wide-cache/ledger/ledger.js'
import { useOf } from '../wide-cache/ledger/use.js'
import type { CommandLog } from './log.js'
import { withKind } from './row-kinds.js'
import { counted, table } from './table.js'

/** Frames that are listed. */
const MAX_LISTED = 1_000

/** Rows of a frame that are shown, and bytes of one whose kind no command knows. */
const MAX_ROWS_SHOWN = 20
const MAX_ROW_BYTES = 200

/** Bytes shown of what cannot be read. */
const MAX_BYTES_SHOWN = 256

/** Prints the oldest frames. */
export async function listFrames(
  database: Database,
  name: string | undefined,
  json: boolean,
  log: CommandLog,
  print: (text: string) => void,
): Promise<void> {
  const found = await framesInQuarantine(database, { name, limit: MAX_LISTED + 1 })
  const listed = found.slice(0, MAX_LISTED)
  if (json) print(`${printableJson(listed.map(shown))}\n`)
  else if (listed.length > 0) {
    print(
      table([
        ['ID', 'NAME', 'ROWS', 'SINCE', 'REASON'],
        ...listed.map(({ id, name, rowCount, createdAt, reason }) => [
          id,
          name,
          rowCount,
          isoOf(createdAt),
          reason || 'bytes that are no frame of its kind',
        ]),
      ]),
    )
  }
  if (listed.length === 0) log.info('wide-cache: nothing is in quarantine')
  if (found.length > listed.length) {
    log.info(`wide-cache: only the oldest ${counted(MAX_LISTED)} are listed; there are more`)
  }
}

/** Prints a frame and its first rows. @throws Error if it is not there */
export async function showFrame(
  database: Database,
  name: string | undefined,
  id: number,
  json: boolean,
  log: CommandLog,
  print: (text: string) => void,
): Promise<void> {
  const frame = await frameInQuarantine(database, id)
  if (!frame || (name !== undefined && frame.name !== name)) throw new Error(notThere(id))
  const use = await useOf(database, frame.name)
  const content = contentOf(frame, use?.kind ?? '', database, log)
  if (json) {
    print(`${printableJson({ ...shown(frame), kind: use?.kind ?? null, ...content })}\n`)
    return
  }
  print(
    table([
      ['id', String(frame.id)],
      ['name', frame.name],
      ['kind', use?.kind ?? 'nobody has recorded it'],
      ['writer', frame.writer ?? 'none: these bytes are no frame of the kind'],
      ['sequence', String(frame.sequence ?? 'none')],
      ['rows', String(frame.rowCount)],
      ['since', isoOf(frame.createdAt)],
      ['reason', frame.reason],
      ['bytes', String(frame.bytes.length)],
    ]),
  )
  for (const row of content.content) print(`${printable(row)}\n`)
  if (content.more > 0) print(`and ${counted(content.more)} more\n`)
}

/** The first rows of a frame as texts, or its first bytes, and how many more there are. */
function contentOf(
  frame: QuarantinedFrame & { readonly bytes: Buffer },
  kind: string,
  database: Database,
  log: CommandLog,
): { content: string[]; more: number } {
  const textOf = (row: Buffer): string => row.toString('utf8', 0, MAX_ROW_BYTES)
  try {
    const rows =
      withKind({ name: frame.name, kind }, database, log, (known) =>
        rowsInFrame(frame, frame.bytes, known).map((row) => JSON.stringify(known.describe(row))),
      ) ??
      rowsInFrame(frame, frame.bytes, {
        kind,
        codec: { encode: () => -1, decode: textOf },
      })
    const content = rows.slice(0, MAX_ROWS_SHOWN)
    return { content, more: rows.length - content.length }
  } catch (error) {
    if (!(error instanceof RowsError)) throw error
    const shownBytes = frame.bytes.subarray(0, MAX_BYTES_SHOWN)
    return { content: [shownBytes.toString('hex')], more: frame.bytes.length - shownBytes.length }
  }
}

function shown({
  id,
  name,
  writer,
  sequence,
  rowCount,
  reason,
  createdAt,
}: QuarantinedFrame): object {
  return {
    id,
    name,
    writer: writer ?? null,
    sequence: sequence ?? null,
    rows: rowCount,
    reason,
    since: isoOf(createdAt),
  }
}

/** Without milliseconds; what is no time of a database is shown as it is. */
function isoOf(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString().replace(/\.\d+Z$/, 'Z')
}

/** Message about a frame that is not in quarantine. */
export function notThere(id: number): string {
  return `quarantine has no frame ${id}`
}
