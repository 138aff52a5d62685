/** The message that tells a process of a site what to do. */
import type { UsesOptions } from './uses.js'

/** At its start, by its environment. */
export interface Assignment extends UsesOptions {
  /** The mark of its rows: no other process ever has the same. */
  readonly life: string
  /** The file in which it keeps the truth; a pure collector has none. */
  readonly truth: string | undefined
  /** The right time when {@link monotonic} was 0, in milliseconds since the Unix epoch. */
  readonly rightAtZero: number
}

/** The monotonic clock of the machine, in milliseconds: all processes have the same. */
export function monotonic(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}

/** The environment variable that holds it. */
export const ASSIGNMENT = 'CHAOS_ASSIGNMENT'

/**
 * Later: to step its clock, to record a row that SQL refuses, to record many at once, or so many a
 * second for a while.
 */
export type Order =
  | { readonly stepMs: number }
  | { readonly poison: true }
  | { readonly rows: number }
  | { readonly rowsASecond: number; readonly ms: number }
