/** Waits until the ledgers of a healed world stand still. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../src/index.js'
import { ledgersOf, PARTS, type Uses, type UsesOptions } from './uses.js'

/** A killed writer counts as vanished after 60 s; twice that, and a while for a busy machine. */
const DRAIN_MS = 140_000
const LOOK_EVERY_MS = 1_000

/** In a healthy world nothing takes so long. */
const ANSWER_MS = 300_000

/**
 * Drains until no rows are on their way, or for {@link DRAIN_MS}. The checks say what is still
 * outstanding then.
 */
export async function drained(
  database: Database,
  uses: Uses,
  names: Pick<UsesOptions, 'site' | 'apart'>,
): Promise<void> {
  const deadline = performance.now() + DRAIN_MS
  for (;;) {
    const isOver = performance.now() > deadline
    try {
      for (const part of PARTS) await answered(`${part}: drain()`, uses[part].drain({ all: true }))
      const ledgers = await answered('ledger()', ledgersOf(database, uses, names))
      if (isOver || Object.values(ledgers).every(({ outstanding }) => outstanding === 0)) return
    } catch (error) {
      // The collectors of this process are at it, too.
      if (isOver) throw error
    }
    await delay(LOOK_EVERY_MS)
  }
}

/**
 * Resolves with what `work` resolves with. @throws Error naming `what` when it takes longer than
 * {@link ANSWER_MS}
 */
export async function answered<T>(what: string, work: Promise<T>): Promise<T> {
  const ended = new AbortController()
  const timeout = delay(ANSWER_MS, undefined, { signal: ended.signal }).then(() => {
    throw new Error(`${what} has not ended within ${ANSWER_MS / 1000} s`)
  })
  // When it is in time, the wait is given up.
  timeout.catch(() => undefined)
  try {
    return await Promise.race([work, timeout])
  } finally {
    ended.abort()
  }
}
