import type { Queryable } from '../database/database.js'
import type { Clock, Timer } from '../support/clock.js'
import type { ClockWatch } from './clock-watch.js'

/**
 * Interval of the writes. An outage of SQL that none of them sees is shorter, and a writer has made
 * up for it within `directSeconds`.
 */
const EVERY_MS = 5_000

/** Longest time from one write to the next in which SQL counts as writable: none has failed. */
const LONGEST_GAP_MS = 8_000

/** Time for which it goes on after figures have needed it. */
const KEEP_MS = 600_000

interface WriteProofParts {
  readonly settings: { readonly name: string }
  readonly clock: Clock
  readonly database: Queryable
  readonly watch: Pick<ClockWatch, 'recent'>
}

/**
 * Proves that SQL takes writes, by writes. Where no collector comes, writers bring their rows to
 * SQL within `directSeconds`, if it takes them: one that is read-only, full or locked answers
 * readers all the same. All processes of a name prove it together, in its row, so a lock on the
 * tables of `commit` alone goes unseen.
 */
export class WriteProof {
  readonly #parts: WriteProofParts
  #neededAt = -Infinity
  #underWay = false
  #timer: Timer | undefined
  #stopped = false

  constructor(parts: WriteProofParts) {
    this.#parts = parts
  }

  /** Figures are old: begins to write, or goes on. */
  keep(): void {
    this.#neededAt = this.#parts.clock.elapsed()
    if (!this.#underWay && !this.#timer) void this.#write()
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    const { settings, clock, database, watch } = this.#parts
    if (this.#stopped) return
    this.#timer = undefined
    this.#underWay = true
    try {
      await prove(database, settings.name, await watch.recent(database))
    } catch {
      // Until one succeeds, nothing is proven.
    }
    this.#underWay = false
    if (this.#stopped || clock.elapsed() - this.#neededAt >= KEEP_MS) return
    this.#timer = clock.after(EVERY_MS, () => void this.#write())
  }
}

/** Writes that SQL can be written at `now`. @throws DatabaseError */
async function prove(database: Queryable, name: string, now: number): Promise<void> {
  // MySQL sees in an assignment what those before it have set.
  const isNext = 'written_at BETWEEN ? AND ?'
  const gap = [now - LONGEST_GAP_MS, now + LONGEST_GAP_MS]
  await database.query(
    'UPDATE wide_cache_names SET ' +
      `direct_to = CASE WHEN ${isNext} AND writable_since <= ? - 1000 * direct_seconds ` +
      'THEN ? - 1000 * direct_seconds ELSE direct_to END, ' +
      `writable_since = CASE WHEN ${isNext} THEN writable_since ELSE ? END, ` +
      'written_at = ? WHERE grid_name = ?',
    [...gap, now, now, ...gap, now, now, name],
  )
}
