import type { Database, Queryable } from '../database/database.js'
import { execute } from '../database/sql.js'
import { table } from '../database/table.js'
import type { Clock, Timer } from '../support/clock.js'
import type { ClockWatch } from './clock-watch.js'

/** Time after which a process looks whether collectors bring its rows, and between two looks. */
const FIRST_LOOK_MS = 500
const LOOK_MS = 5_000

/** Age at which an entry that its process has not renewed counts no more. */
export const ENTRY_LIVES_MS = 3 * LOOK_MS

const JOINING = table(
  'wide_cache_joining',
  ['name', 'process'],
  ['since', 'replace'],
  ['seen_at', 'replace'],
)

export interface JoiningParts {
  /** `directSeconds`: time in which a writer commits what no collector brings. */
  readonly settings: { readonly name: string; readonly directSeconds: number }
  readonly clock: Clock
  readonly watch: ClockWatch
  readonly database: Database
  /** Compares the cache with that of the collectors. */
  readonly sameCache: { compare(): Promise<void> }
  /** Id of this process. */
  readonly owner: Buffer
  /** Milliseconds since the oldest row that no collector is known to bring may have come. */
  readonly heldMs: () => number
  /** Whether all rows are in time in cells that collectors are known to read. */
  readonly isBrought: () => boolean
}

/**
 * Says in SQL since when a process holds rows, from its first contact until collectors are known to
 * bring them: all are in time in cells, and its cache has shown a mark of theirs, or they have
 * brought some. Meanwhile figures end there. Otherwise they would go past the rows of a process
 * that SQL answers slowly, or whose cache is another one. The entry of a process that has died ends
 * soon.
 */
export class Joining {
  readonly #parts: JoiningParts
  #timer: Timer | undefined
  /** Moment by which its writers have committed what no collector has brought. */
  #until: number | undefined
  #isOver = false
  /** The look that is under way. */
  #looking: Promise<void> | undefined

  constructor(parts: JoiningParts) {
    this.#parts = parts
  }

  /** Enters it, before anything else that waits for SQL. */
  async enter(raw: Queryable): Promise<void> {
    if (this.#isOver) return
    await this.#say(raw)
    if (this.#until !== undefined) return
    const { clock, settings } = this.#parts
    this.#until = clock.elapsed() + settings.directSeconds * 1000
    this.#lookIn(FIRST_LOOK_MS)
  }

  /** Withdraws the entry, because the process ends. Never rejects. */
  async end(): Promise<void> {
    this.#timer?.cancel()
    const isEntered = !this.#isOver && this.#until !== undefined
    this.#isOver = true
    // It may be about to renew the entry.
    await this.#looking
    if (isEntered) await this.#withdraw().catch(() => undefined)
  }

  #lookIn(ms: number): void {
    this.#timer = this.#parts.clock.after(ms, () => {
      this.#looking = this.#look()
    })
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { watch, sameCache, isBrought, database, clock } = this.#parts
    try {
      await watch.recent(database)
      await sameCache.compare()
      if (this.#isOver) return
      if (isBrought() || clock.elapsed() >= this.#until!) {
        this.#isOver = true
        return await this.#withdraw()
      }
      await this.#say(database)
    } catch {
      // The entry ends by itself, and what SQL does not answer is tried again.
    }
    if (!this.#isOver) this.#lookIn(LOOK_MS)
  }

  async #say(on: Queryable): Promise<void> {
    const { settings, watch, owner, heldMs } = this.#parts
    const now = await watch.recent(on)
    // Of a whole second, as figures are.
    const since = Math.floor((now - heldMs()) / 1000) * 1000
    await JOINING.upsert(on, [[settings.name, owner, since, now]])
  }

  async #withdraw(): Promise<void> {
    const { settings, owner, database } = this.#parts
    await execute(database)`DELETE FROM wide_cache_joining WHERE name = ${settings.name}
      AND process = ${owner}`
  }
}
