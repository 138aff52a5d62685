/** Waits for what takes an unknown time, up to a deadline. */
import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 50

/**
 * Resolves with the first value of `look` that is not `undefined` or `false`. @throws Error that
 * names `what`, after `ms`.
 */
export async function eventually<T>(
  what: string,
  ms: number,
  look: () => T | Promise<T>,
): Promise<Exclude<T, false | undefined>> {
  const deadline = performance.now() + ms
  for (;;) {
    const value = await look()
    if (value !== undefined && value !== false) return value as Exclude<T, false | undefined>
    if (performance.now() > deadline) throw new Error(`not within ${ms / 1000} s: ${what}`)
    await delay(POLL_MS)
  }
}
