/** Tells whether one process works, for the probes of an orchestrator. */
import type { ErrorCounts } from '../../connections/counting.js'
import type { WriterFigures } from '../writer/writer.js'

/** Result of `health()`. */
export interface Health {
  /** The process can go on: always `true`. A process that cannot does not answer. */
  readonly live: boolean
  /**
   * Whether requests may be sent to the process: `true` until `close()` is called. A problem with
   * tracking is no reason to take a site out of service.
   */
  readonly ready: boolean
  /** Problems, a sentence each; empty if there are none. */
  readonly reasons: readonly string[]
}

/** Health after `close()`. */
export const CLOSED: Health = {
  live: true,
  ready: false,
  reasons: ['it has been closed by close()'],
}

/** Time for which a failed cache server, and dropped rows, are reported. */
const RECENT_MS = 60_000

/** Figures from which the health is judged. */
export interface Vitals {
  readonly writer: WriterFigures
  readonly cacheErrors: ErrorCounts
  readonly databaseErrors: ErrorCounts
  /** Description of a difference of the clocks; `undefined`: they agree. */
  readonly clockTrouble: string | undefined
  /** Milliseconds for which this process's drains have failed; `undefined`: they have not. */
  readonly drainsFailingMs: number | undefined
  /** Lag of the slowest grid, in milliseconds; `undefined`: not known. */
  readonly lagMs: number | undefined
  /** Seconds after which a writer commits the frames that no collector has brought to SQL. */
  readonly directSeconds: number
}

/** Returns the problems of a process, a sentence each. */
export function troublesOf(vitals: Vitals): string[] {
  const { writer, cacheErrors, databaseErrors, drainsFailingMs, directSeconds } = vitals
  const troubles: string[] = []
  if (databaseErrors.failingMs !== undefined) {
    troubles.push(`the database has failed for ${wholeSeconds(databaseErrors.failingMs)} s`)
  }
  for (const server of cacheErrors.failedWithin(RECENT_MS)) {
    troubles.push(`the cache server ${server} failed within the last minute`)
  }
  if (writer.unconfirmedMs > directSeconds * 1000) {
    const age = wholeSeconds(writer.unconfirmedMs)
    troubles.push(`a frame has not been confirmed for ${age} s; this process holds it`)
  }
  if (writer.droppedAgoMs < RECENT_MS) troubles.push('rows were dropped within the last minute')
  if (vitals.clockTrouble !== undefined) troubles.push(vitals.clockTrouble)
  if (drainsFailingMs !== undefined) {
    troubles.push(`collecting has failed for ${wholeSeconds(drainsFailingMs)} s`)
  }
  return [...troubles, ...lagTroubles(vitals)]
}

/** Reports a lag that is too long: writers then commit the frames that no collector has brought. */
export function lagTroubles({
  lagMs,
  directSeconds,
}: Pick<Vitals, 'lagMs' | 'directSeconds'>): string[] {
  if (lagMs === undefined || lagMs <= directSeconds * 1000) return []
  return [`collecting lags ${wholeSeconds(lagMs)} s behind`]
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}
