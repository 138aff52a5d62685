/** `wide-cache quarantine`: shows the frames that SQL has refused, retries them, or drops them. */
import { unlocked } from '../connections/unlocked.js'
import type { Database } from '../database/database.js'
import { systemEnvironment } from '../support/environment.js'
import { identifier } from '../support/options.js'
import { printableJson } from '../support/printable.js'
import {
  dropFrame,
  frameInQuarantine,
  framesInQuarantine,
  type QuarantinedFrame,
} from '../wide-cache/ledger/quarantined-frames.js'
import { isAboutRows, reasonOf } from '../wide-cache/ledger/settle.js'
import type { QuarantineOptions } from './arguments.js'
import { refuseUnknownName, withTables } from './existing.js'
import type { CommandLog } from './log.js'
import { listFrames, type Shown, showFrame } from './quarantine-show.js'
import { kindOfFrame } from './row-kinds.js'
import { counted } from './table.js'

/** Frames that are read at a time. */
const FRAMES_A_READ = 1_000

const PAST = { retry: 'retried', drop: 'dropped' } as const

/** Result of one command for its frames. */
interface Outcome {
  frames: number
  rows: number
  /** Frames that stay, or are not there. */
  readonly refused: { readonly id: number; readonly reason: string }[]
}

/** Returns the exit status. @throws Error, DatabaseError */
export async function quarantine(
  { database: url, name, json, action }: QuarantineOptions,
  log: CommandLog,
  print: (text: string) => void,
): Promise<number> {
  if (name !== undefined) identifier('name', name)
  const work = async (database: Database): Promise<number> => {
    if (name !== undefined) await checkName(database, name)
    const command: Shown = { database, name, json, log, print }
    if (action.verb === 'list') await listFrames(command)
    else if (action.verb === 'show') return (await showFrame(command, action.id)) ? 0 : 1
    else return actOnFrames(command, action.verb, action.ids)
    return 0
  }
  return withTables(url, log, ['wide-cache'], work, ['activity', 'hits', 'collision-free-map'])
}

/** Refuses an unknown name. A removed one may have frames in quarantine. @throws UsageError */
async function checkName(database: Database, name: string): Promise<void> {
  const { rows } = await database.query(
    'SELECT name FROM wide_cache_names UNION SELECT name FROM wide_cache_quarantine ORDER BY name',
  )
  const names = rows.map((row) => String(row['name']))
  refuseUnknownName(name, names)
}

async function actOnFrames(
  command: Shown,
  verb: 'retry' | 'drop',
  ids: readonly number[] | 'all',
): Promise<number> {
  const { json, log, print } = command
  const act = verb === 'retry' ? retry : drop
  const outcome: Outcome = { frames: 0, rows: 0, refused: [] }
  try {
    for await (const { id, frame } of framesOf(command, ids)) {
      const result = frame && (await act(command, frame))
      if (typeof result === 'number') {
        outcome.frames++
        outcome.rows += result
      } else if (ids !== 'all' || result !== undefined) {
        outcome.refused.push({ id, reason: result ?? `quarantine has no frame ${id}` })
      }
    }
  } finally {
    // Also where it cannot go on: what it has done by then is done.
    if (json) print(`${printableJson({ [PAST[verb]]: outcome })}\n`)
    else report(verb, outcome, log)
  }
  return outcome.refused.length > 0 ? 1 : 0
}

/** Reads the frames with some ids, or all of them. `frame` is missing where there is none. */
async function* framesOf(
  { database, name }: Shown,
  ids: readonly number[] | 'all',
): AsyncGenerator<{ readonly id: number; readonly frame?: QuarantinedFrame | undefined }> {
  if (ids !== 'all') {
    for (const id of ids) yield { id, frame: await frameInQuarantine(database, id, name) }
    return
  }
  for (let from = 0; ;) {
    const frames = await framesInQuarantine(database, { name, from, limit: FRAMES_A_READ })
    for (const frame of frames) yield { id: frame.id, frame }
    const last = frames.at(-1)
    if (!last) return
    from = last.id + 1
  }
}

/** Returns the rows committed, or the reason why not; `undefined`: it is no longer there. */
async function retry(
  { database, log }: Shown,
  frame: QuarantinedFrame,
): Promise<number | string | undefined> {
  if (frame.writer === null) return 'bytes that are no frame cannot be retried'
  const known = await kindOfFrame(database, frame, log)
  if (!known.retry) {
    return `only the processes of "${frame.name}" can commit rows of kind "${known.kind}"`
  }
  try {
    return await known.retry()
  } catch (error) {
    if (!isAboutRows(error)) throw error
    return reasonOf(error)
  }
}

/** Returns the rows dropped, or `undefined`: it is no longer there. */
function drop({ database }: Shown, frame: QuarantinedFrame): Promise<number | undefined> {
  return unlocked(systemEnvironment, () => dropFrame(database, frame))
}

function report(verb: 'retry' | 'drop', { frames, rows, refused }: Outcome, log: CommandLog): void {
  const lost = verb === 'drop' && rows > 0 ? '; they count as lost' : ''
  log.info(
    `wide-cache: ${PAST[verb]} ${counted(frames, 'frame')} with ${counted(rows, 'row')}${lost}`,
    { frames, rows },
  )
  for (const { id, reason } of refused) {
    log.warn(`wide-cache: frame ${id} is left as it is: ${reason}`, { id, reason })
  }
}
