/** Prints frames for `wide-cache quarantine`. */
import type { Database } from '../database/database.js'
import { printable, printableJson } from '../support/printable.js'
import { type Kept, keptFrame, keptFrames, rowsInKept } from '../wide-cache/ledger/kept-frames.js'
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
  const found = await keptFrames(database, { name, limit: MAX_LISTED + 1 })
  const kept = found.slice(0, MAX_LISTED)
  if (json) print(`${printableJson(kept.map(shown))}\n`)
  else if (kept.length > 0) {
    print(
      table([
        ['ID', 'NAME', 'ROWS', 'SINCE', 'REASON'],
        ...kept.map(({ id, name, rowCount, createdAt, reason }) => [
          id,
          name,
          rowCount,
          isoOf(createdAt),
          reason || 'bytes that are no frame of its kind',
        ]),
      ]),
    )
  }
  if (kept.length === 0) log.info('wide-cache: nothing is in quarantine')
  if (found.length > kept.length) {
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
  const kept = await keptFrame(database, id)
  if (!kept || (name !== undefined && kept.name !== name)) throw new Error(notThere(id))
  const use = await useOf(database, kept.name)
  const content = contentOf(kept, use?.kind ?? '', database, log)
  if (json) {
    print(`${printableJson({ ...shown(kept), kind: use?.kind ?? null, ...content })}\n`)
    return
  }
  print(
    table([
      ['id', String(kept.id)],
      ['name', kept.name],
      ['kind', use?.kind ?? 'nobody has recorded it'],
      ['writer', kept.writer ?? 'none: these bytes are no frame of the kind'],
      ['sequence', String(kept.sequence ?? 'none')],
      ['rows', String(kept.rowCount)],
      ['since', isoOf(kept.createdAt)],
      ['reason', kept.reason],
      ['bytes', String(kept.bytes.length)],
    ]),
  )
  for (const row of content.content) print(`${printable(row)}\n`)
  if (content.more > 0) print(`and ${counted(content.more)} more\n`)
}

/** The first rows of a frame as texts, or its first bytes, and how many more there are. */
function contentOf(
  kept: Kept & { readonly bytes: Buffer },
  kind: string,
  database: Database,
  log: CommandLog,
): { content: string[]; more: number } {
  const textOf = (row: Buffer): string => row.toString('utf8', 0, MAX_ROW_BYTES)
  try {
    const rows =
      withKind({ name: kept.name, kind }, database, log, (known) =>
        rowsInKept(kept, kept.bytes, known).map((row) => JSON.stringify(known.describe(row))),
      ) ??
      rowsInKept(kept, kept.bytes, {
        kind,
        codec: { encode: () => -1, decode: textOf },
      })
    const content = rows.slice(0, MAX_ROWS_SHOWN)
    return { content, more: rows.length - content.length }
  } catch (error) {
    if (!(error instanceof RowsError)) throw error
    const shownBytes = kept.bytes.subarray(0, MAX_BYTES_SHOWN)
    return { content: [shownBytes.toString('hex')], more: kept.bytes.length - shownBytes.length }
  }
}

function shown({ id, name, writer, sequence, rowCount, reason, createdAt }: Kept): object {
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
