/**
 * The rule of when a row must be in the figures that say they are complete up to it. It is the
 * table "visits missing in `lower` and `upper`" of `docs/activity.md`, with faults for causes and
 * with time for a busy machine:
 *
 * - Where nothing is disturbed, and where only SQL is, at every look: `asOf` waits for the row.
 * - What the cache lost, refused or did not answer for: 20 s later, for its writer has brought it
 *   to SQL by itself. If its way to SQL was disturbed meanwhile, 20 s after that; after a silence
 *   120 s, because a silent connection is given up after a minute.
 * - Of a process that has just begun, and has no salt yet: 20 s later.
 * - Of a process that stood still, or whose clock was wrong: 20 s after it goes on.
 * - Of a killed writer, what was placed and drained without a fault. The rest may be missing for
 *   good.
 */
import type { WriterLife } from './account.js'
import type { Disturbance } from './allowed-loss.js'
import type { Disturbed } from './plan.js'

/** A row that was recorded at `at`, and which looks from the moment `from` on must count. */
export interface Due {
  readonly at: number
  readonly from: number
}

/** From a row to the fault that it may meet on its way to SQL. */
const ON_ITS_WAY_MS = 10_000
const BROUGHT_MS = 20_000
const SILENCE_MS = 120_000
/** A process that begins waits for its salt, which takes long on a busy machine. */
const BEGINS_MS = 10_000
/** Time until a row of a killed writer is in a cell, and until it is in SQL. */
const PLACED_MS = 2_000
const DRAINED_MS = 60_000
const RECOVERY_MS = 90_000

/** Returns the rows that must be counted, in the order in which they were recorded. */
export function dueRows(lives: readonly WriterLife[], disturbances: readonly Disturbance[]): Due[] {
  const faults = new Faults(disturbances)
  const due: Due[] = []
  for (const life of lives) {
    for (const [number, at] of life.times.entries()) {
      if (number >= life.afterClose) break
      const from = life.exact ? livingFrom(at, life, faults) : killedFrom(at, life, faults)
      if (from !== undefined) due.push({ at, from })
    }
  }
  return due.sort((a, b) => a.at - b.at)
}

function killedFrom(at: number, life: WriterLife, faults: Faults): number | undefined {
  const isCalm = (['cache', 'sql', 'process'] as const).every(
    (part) => faults.of(part, at - RECOVERY_MS, at + DRAINED_MS).length === 0,
  )
  const placedMs = life.hasPrivateCache ? DRAINED_MS : PLACED_MS
  return life.killedAt - at >= placedMs && isCalm ? at : undefined
}

function livingFrom(at: number, life: WriterLife, faults: Faults): number {
  const [from, until] = [at - ON_ITS_WAY_MS, at + ON_ITS_WAY_MS]
  let due = at
  if (faults.of('cache', from, until).length > 0) due = at + BROUGHT_MS
  for (const { to } of faults.of('process', from, until, life)) due = Math.max(due, to + BROUGHT_MS)
  const begins = at - life.times[0]! < BEGINS_MS
  if (begins) due = Math.max(due, at + BROUGHT_MS)
  if (due === at) return at
  for (const { type, to } of faults.of('sql', from, Math.max(due, until), life)) {
    due = Math.max(due, to + (type === 'silence SQL' ? SILENCE_MS : BROUGHT_MS))
  }
  return due
}

class Faults {
  readonly #byPart: Record<Disturbed, Disturbance[]> = { cache: [], sql: [], process: [], none: [] }
  readonly #longestMs: number

  constructor(disturbances: readonly Disturbance[]) {
    this.#longestMs = Math.max(0, ...disturbances.map(({ from, to }) => to - from))
    const sorted = [...disturbances].sort((a, b) => a.from - b.from)
    for (const fault of sorted) this.#byPart[fault.disturbs].push(fault)
  }

  /** The faults of a part between two moments; with `life`, those that disturb this one. */
  of(part: Disturbed, from: number, until: number, life?: WriterLife): Disturbance[] {
    const faults = this.#byPart[part]
    let low = 0
    let high = faults.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (faults[middle]!.from < from - this.#longestMs) low = middle + 1
      else high = middle
    }
    const found: Disturbance[] = []
    for (let next = low; next < faults.length && faults[next]!.from <= until; next++) {
      const fault = faults[next]!
      if (fault.to >= from && (!life || life.reliesOn.includes(fault.target))) found.push(fault)
    }
    return found
  }
}
