/** `wide-cache quarantine`: shows the frames that SQL has refused, retries them, or drops them. */
import { setTimeout as delay } from 'node:timers/promises'
import { type Database, DatabaseError } from '../database/database.js'
import { nameOf } from '../support/options.js'
import { printableJson } from '../support/printable.js'
import {
  dropFrame,
  frameInQuarantine,
  framesInQuarantine,
  type QuarantinedFrame,
  retryFrame,
} from '../wide-cache/ledger/quarantined-frames.js'
import { isAboutRows, reasonOf } from '../wide-cache/ledger/settle.js'
import { useOf } from '../wide-cache/ledger/use.js'
import type { QuarantineOptions } from './arguments.js'
import { refuseUnknownName, withTables } from './existing.js'
import type { CommandLog } from './log.js'
import { listFrames, notThere, showFrame } from './quarantine-show.js'
import { withKind } from './row-kinds.js'
import { counted } from './table.js'

/** Frames that are read at a time. */
const FRAMES_A_READ = 1_000

/** Maximum number of tries of a transaction while others hold its locks. */
const TRIES = 5
const WAIT_MS = 200

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
  if (name !== undefined) nameOf('name', name)
  return withTables(
    url,
    log,
    ['wide-cache'],
    async (database) => {
      if (name !== undefined) await checkName(database, name)
      switch (action.verb) {
        case 'list':
          await listFrames(database, name, json, log, print)
          return 0
        case 'show':
          await showFrame(database, name, action.id, json, log, print)
          return 0
        case 'retry':
        case 'drop': {
          const { verb, ids } = action
          const settle = verb === 'retry' ? retryOne : dropOne
          const outcome: Outcome = { frames: 0, rows: 0, refused: [] }
          try {
            await settleAll(database, ids, name, (frame) => settle(database, frame, log), outcome)
          } finally {
            // Also where it cannot go on: what it has done by then is done.
            if (json) print(`${printableJson({ [PAST[verb]]: outcome })}\n`)
            else report(verb, outcome, log)
          }
          return outcome.refused.length > 0 ? 1 : 0
        }
      }
    },
    ['activity', 'hits', 'collision-free-map'],
  )
}

/** Refuses an unknown name. A removed one may have frames in quarantine. @throws UsageError */
async function checkName(database: Database, name: string): Promise<void> {
  const { rows } = await database.query(
    'SELECT name FROM wide_cache_uses UNION SELECT name FROM wide_cache_quarantine ORDER BY name',
  )
  const names = rows.map((row) => String(row['name']))
  refuseUnknownName(name, names)
}

const PAST = { retry: 'retried', drop: 'dropped' } as const

async function settleAll(
  database: Database,
  ids: readonly number[] | 'all',
  name: string | undefined,
  settle: (frame: QuarantinedFrame) => Promise<number | string | undefined>,
  outcome: Outcome,
): Promise<void> {
  for await (const { id, frame } of wanted(database, ids, name)) {
    const settled = frame && (await settle(frame))
    if (typeof settled === 'number') {
      outcome.frames++
      outcome.rows += settled
    } else if (ids !== 'all' || settled !== undefined) {
      outcome.refused.push({ id, reason: settled ?? notThere(id) })
    }
  }
}

/** The frames that are asked for; without one where an id is not there. */
async function* wanted(
  database: Database,
  ids: readonly number[] | 'all',
  name: string | undefined,
): AsyncGenerator<{ id: number; frame: QuarantinedFrame | undefined }> {
  if (ids !== 'all') {
    for (const id of ids) {
      const frame = await frameInQuarantine(database, id)
      yield { id, frame: name === undefined || frame?.name === name ? frame : undefined }
    }
    return
  }
  for (let after = 0; ;) {
    const frames = await framesInQuarantine(database, { name, after, limit: FRAMES_A_READ })
    for (const one of frames) yield { id: one.id, frame: one }
    const last = frames.at(-1)
    if (!last) return
    after = last.id
  }
}

/** Returns the rows committed, why they are not, or `undefined`: it is no longer there. */
async function retryOne(
  database: Database,
  frame: QuarantinedFrame,
  log: CommandLog,
): Promise<number | string | undefined> {
  if (frame.writer === undefined) return 'bytes that are no frame cannot be retried'
  const use = await useOf(database, frame.name)
  const kind = use?.kind ?? ''
  const retried = withKind({ name: frame.name, kind }, database, log, (known) =>
    unlocked(() => retryFrame(database, frame, known)),
  )
  if (!retried) return `only the processes of "${frame.name}" can commit rows of kind "${kind}"`
  try {
    return await retried
  } catch (error) {
    if (!isAboutRows(error)) throw error
    return reasonOf(error)
  }
}

function dropOne(database: Database, frame: QuarantinedFrame): Promise<number | undefined> {
  return unlocked(() => dropFrame(database, frame))
}

/** Runs a transaction again while others hold its locks. */
async function unlocked<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries === TRIES || !(error instanceof DatabaseError) || error.kind !== 'lock') throw error
      await delay(tries * WAIT_MS)
    }
  }
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
