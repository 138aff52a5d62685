/** Whether one process does its part, as probes of an orchestrator ask it. */
import type { ErrorCounts } from '../../connections/counting.js'
import type { WriterFigures } from '../writer/writer.js'

/** What `health()` says. */
export interface Health {
  /** The process can go on: always `true`. A process that cannot does not answer. */
  readonly live: boolean
  /**
   * Requests may be sent to the process: `true` until `close()` is called. Trouble with tracking is
   * no reason to take a site out of service.
   */
  readonly ready: boolean
  /** What is wrong, a sentence each; empty if all is well. */
  readonly reasons: readonly string[]
}

/** After `close()`. */
export const CLOSED: Health = {
  live: true,
  ready: false,
  reasons: ['it has been closed by close()'],
}

/** How long a failed cache server, and dropped rows, are told of. */
const TOLD_MS = 60_000

/** What is looked at. */
export interface Vitals {
  readonly writer: WriterFigures
  readonly cacheErrors: ErrorCounts
  readonly databaseErrors: ErrorCounts
  /** For how long this process's drains have failed; `undefined`: they have not. */
  readonly drainsFailingMs: number | undefined
  /** How far the slowest grid lags; `undefined`: not known. */
  readonly lagMs: number | undefined
  /** Seconds after which a writer commits what no collector has brought. */
  readonly directSeconds: number
}

/** What is wrong with a process. */
export function troublesOf(vitals: Vitals): string[] {
  const { writer, cacheErrors, databaseErrors, drainsFailingMs, directSeconds } = vitals
  const troubles: string[] = []
  if (databaseErrors.failingMs !== undefined) {
    troubles.push(`the database has failed for ${wholeSeconds(databaseErrors.failingMs)} s`)
  }
  for (const server of cacheErrors.failedWithin(TOLD_MS)) {
    troubles.push(`the cache server ${server} failed within the last minute`)
  }
  if (writer.unconfirmedMs > directSeconds * 1000) {
    const age = wholeSeconds(writer.unconfirmedMs)
    troubles.push(`a frame has not been confirmed for ${age} s; this process holds it`)
  }
  if (writer.droppedAgoMs < TOLD_MS) troubles.push('rows were dropped within the last minute')
  if (drainsFailingMs !== undefined) {
    troubles.push(`collecting has failed for ${wholeSeconds(drainsFailingMs)} s`)
  }
  return [...troubles, ...lagTroubles(vitals)]
}

/** A lag that is too long. From then on writers commit what no collector has brought. */
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
