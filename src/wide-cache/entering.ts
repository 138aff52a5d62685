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

/**
 * Time for which a visit may wait, before the writer has it, for what makes its visitor anonymous.
 */
const WAITING_MS = 5_000

/** What a process records under one of its names. */
export interface Recording {
  readonly settings: OwnName
  readonly writer: { readonly figures: { readonly heldMs: number } }
}

/**
 * Returns a function that enters a process in SQL: what it uses its names for, then its grid. It
 * runs whenever the tables have been migrated, and takes the database as it is by then.
 */
export function entering({
  settings,
  scope,
  clock,
  watch,
  record,
  made,
  entered,
  decision,
}: {
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
}): (database: Queryable) => Promise<void> {
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
    const heldMs = Math.max(0, ...recordings.map(({ writer }) => writer.figures.heldMs))
    const bornAt = now - Math.min(ageMs, heldMs + WAITING_MS)
    // Of a whole second, as figures are.
    await record.enter(database, now, seconds, Math.floor(bornAt / 1000) * 1000)
    decision.isOpen = !isDecided
    if (!isDecided) return
    for (const own of recordings) entered.add(own.settings.name)
  }
}
