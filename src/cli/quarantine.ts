/** `wide-cache quarantine`: shows the frames that SQL has refused, retries them, or drops them. */
import { idText } from '../support/id-text.js'
import { identifier } from '../support/options.js'
import { printable } from '../support/printable.js'
import {
  bytesOf,
  dropFrame,
  frameInQuarantine,
  framesInQuarantine,
  type QuarantinedFrame,
} from '../wide-cache/ledger/quarantined-frames.js'
import { RowsError } from '../wide-cache/ledger/rows.js'
import { isAboutRows, reasonOf } from '../wide-cache/ledger/settle.js'
import type { OptionsOf } from './arguments.js'
import { withTables } from './existing.js'
import type { CommandLog } from './log.js'
import { type FrameKind, kindOfFrame } from './row-kinds.js'
import { SetAside } from './set-aside.js'
import { amount, isoOf, textTable } from './table.js'

/** Frames that are read at a time. */
const FRAMES_A_READ = 1_000
/** Rows of a frame that are shown. */
const MAX_ROWS_SHOWN = 20
/** Bytes shown of a frame that cannot be decoded. */
const MAX_BYTES_SHOWN = 256

/** Returns the exit status. @throws Error, DatabaseError */
export async function quarantine(
  { database: url, action, ...flags }: OptionsOf<'quarantine'>,
  log: CommandLog,
  print: (text: string) => void,
): Promise<number> {
  if (flags.name !== undefined) identifier('name', flags.name)
  return withTables(
    url,
    log,
    ['wide-cache'],
    (database) => new Frames({ ...flags, database, log, print }).run(action),
    ['activity', 'hits'],
  )
}

class Frames extends SetAside<QuarantinedFrame, number, 'retry' | 'drop'> {
  // A removed name may have frames in quarantine.
  protected readonly names =
    'SELECT name FROM wide_cache_names UNION SELECT name FROM wide_cache_quarantine ORDER BY name'
  protected readonly columns = {
    ID: 'id',
    NAME: 'name',
    ROWS: 'rows',
    SINCE: 'since',
    REASON: 'reason',
  }
  protected readonly texts = {
    nothing: 'nothing is in quarantine',
    listed: (count: number) => `only the oldest ${amount(count)} are listed`,
    missing: noFrame,
    whyMissing: noFrame,
    stays: (id: number) => `frame ${id} is left as it is`,
    done: (frames: number, rows: number, verb: 'retry' | 'drop') =>
      `${amount(frames, 'frame')} with ${amount(rows, 'row')}` +
      (verb === 'drop' && rows > 0 ? '; they count as lost' : ''),
  }

  protected async first(limit: number) {
    const { database, name } = this.asked
    return [await framesInQuarantine(database, { name, limit })]
  }

  protected one(id: number) {
    return frameInQuarantine(this.asked.database, id, this.asked.name)
  }

  protected override async *all() {
    const { database, name } = this.asked
    for (let from = 0; ;) {
      const frames = await framesInQuarantine(database, { name, from, limit: FRAMES_A_READ })
      yield* frames
      const last = frames.at(-1)
      if (!last) return
      from = last.id + 1
    }
  }

  protected listed(frame: QuarantinedFrame) {
    const { id, name, writer, sequence, rowCount: rows, reason, createdAt } = frame
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

  protected async shown(frame: QuarantinedFrame) {
    const { database } = this.asked
    const bytes = await bytesOf(database, frame)
    const kind = await kindOfFrame(database, frame)
    const fields = { ...this.listed(frame), kind: kind.kind || null, bytes: bytes.length }
    const { content, more } = contentOf(kind, bytes)
    const text =
      textTable(Object.entries(fields).map(([key, value]) => [key, String(value ?? 'none')])) +
      content
        .map((row) => `${printable(typeof row === 'string' ? row : JSON.stringify(row))}\n`)
        .join('') +
      (more > 0 ? `and ${amount(more)} more\n` : '')
    return [{ ...fields, content, more }, text] as const
  }

  protected async act(frame: QuarantinedFrame, verb: 'retry' | 'drop') {
    const { database } = this.asked
    if (verb === 'drop') return dropFrame(database, frame)
    if (frame.writer === null) return 'bytes that are no frame cannot be retried'
    const { kind, retry } = await kindOfFrame(database, frame)
    if (!retry) return `only the processes of "${frame.name}" can commit rows of kind "${kind}"`
    try {
      return await retry()
    } catch (error) {
      if (!isAboutRows(error)) throw error
      return reasonOf(error)
    }
  }

  protected amounts(frames: number, rows: number) {
    return { frames, rows }
  }
}

function noFrame(id: number): string {
  return `quarantine has no frame ${id}`
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
