import type { Queryable } from '../database/database.js'
import type { Clock } from '../support/clock.js'
import type { ClockWatch } from './clock-watch.js'
import type { GridSettings } from './grid-options.js'
import type { GridRecord } from './ledger/grid-record.js'
import { enterName, enterTimeZone, type OwnName } from './ledger/name-settings.js'

/**
 * Age of the watermark of a new grid in a shared cache, in seconds. The id of the grid is new, so
 * only writers whose clocks are behind place frames in past layers.
 */
const NEW_GRID_SECONDS = 300

/** What a process records under one of its names. */
export interface Recording {
  readonly settings: OwnName
  readonly writer: {
    readonly figures: { readonly heldMs: number }
    /** Whether all its rows are in time in cells. */
    readonly isPlaced: boolean
    /** Whether a collector has brought a frame of it to SQL. */
    readonly isBrought: boolean
  }
}

/**
 * Returns a function that enters a process in SQL: what it uses its names for, then its grid. It
 * runs whenever the tables have been migrated, and takes the database as it is by then.
 */
export function entering(parts: {
  readonly settings: Pick<GridSettings, 'layerSeconds' | 'cellTtlSeconds'> & {
    readonly name: string
  }
  readonly scope: 'shared' | 'private'
  readonly clock: Clock
  readonly watch: ClockWatch
  readonly record: GridRecord
  /** What it records, the name of the grid first. */
  readonly made: readonly Recording[]
  /** Gets the names that SQL has, once it has their time zone. */
  readonly entered: Set<string>
  /** Tells whether the time zone is to be decided, by the first row. */
  readonly decision: { isOpen: boolean }
  /** Milliseconds since the oldest row that is held may have come. */
  readonly heldMs: () => number
}): (database: Queryable) => Promise<void> {
  const { settings, scope, clock, watch, record, made, entered, decision, heldMs } = parts
  const createdAt = clock.elapsed()
  return async (database) => {
    const recordings = [...made]
    const isRecording = recordings.some(({ writer }) => writer.figures.heldMs > 0)
    let isDecided = true
    for (const { settings: own } of recordings) {
      const { timeZone } = await enterName(database, own, settings.name)
      if (!own.timeZone || timeZone) continue
      // A process that only reads must not decide.
      if (isRecording) await enterTimeZone(database, settings.name, own.timeZone)
      else isDecided = false
    }
    const now = await watch.now(database)
    const ageMs = clock.elapsed() - createdAt
    // A private cache has no cells older than this process.
    const oldest = scope === 'private' ? ageMs / 1000 + settings.layerSeconds : NEW_GRID_SECONDS
    const seconds = Math.min(oldest, settings.cellTtlSeconds)
    // Of a whole second, as figures are.
    await record.enter(database, now, seconds, Math.floor((now - heldMs()) / 1000) * 1000)
    decision.isOpen = !isDecided
    if (!isDecided) return
    for (const own of recordings) entered.add(own.settings.name)
  }
}

/**
 * Time for which a visit may wait, before the writer has it, for what makes its visitor anonymous.
 */
const WAITING_MS = 5_000

/**
 * Returns a function that tells how many milliseconds ago the oldest row that a process holds may
 * have been recorded. It was not before this call.
 */
export function heldBy(made: readonly Recording[], clock: Clock): () => number {
  const createdAt = clock.elapsed()
  return () => {
    const heldMs = Math.max(0, ...made.map(({ writer }) => writer.figures.heldMs))
    return Math.min(clock.elapsed() - createdAt, heldMs + WAITING_MS)
  }
}
