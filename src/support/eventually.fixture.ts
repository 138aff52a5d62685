/** Waits for what takes an unknown time. */
import { setTimeout as delay } from 'node:timers/promises'

/** Decides only how late a broken test fails: no test says how soon something happens. */
const LIMIT_MS = 600_000
const FIRST_POLL_MS = 2
const LONGEST_POLL_MS = 50

/**
 * Resolves with the first value of `look` that is not `undefined` or `false`. @throws Error that
 * names `what`, after ten minutes.
 */
export async function eventually<T>(
  what: string,
  look: () => T | Promise<T>,
): Promise<Exclude<T, false | undefined>> {
  const deadline = performance.now() + LIMIT_MS
  for (let poll = FIRST_POLL_MS; ; poll = Math.min(2 * poll, LONGEST_POLL_MS)) {
    const value = await look()
    if (value !== undefined && value !== false) return value as Exclude<T, false | undefined>
    if (performance.now() > deadline) throw new Error(`not within ${LIMIT_MS / 1000} s: ${what}`)
    await delay(poll)
  }
}
