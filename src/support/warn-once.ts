import type { Logger } from './logger.js'

/**
 * The messages that each logger has got. A site that opens one URL for several classes reads about
 * it once.
 */
const warned = new WeakMap<Logger, Set<string>>()

/** Messages remembered for a logger; past that it may get one again. */
const REMEMBERED = 100

/** Prints a warning about the set-up, once for each logger. Never throws. */
export function warnOnce(logger: Logger, message: string): void {
  const messages = warned.get(logger) ?? new Set()
  if (messages.has(message)) return
  if (messages.size < REMEMBERED) warned.set(logger, messages.add(message))
  try {
    const returned: unknown = logger.warn(message)
    Promise.resolve(returned).catch(() => undefined)
  } catch {
    // There is nowhere left to say it.
  }
}
