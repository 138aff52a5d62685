import { DatabaseError } from '../database/database.js'
import { sleep } from '../support/clock.js'
import { type Environment, keptAlive } from '../support/environment.js'

/** Tries of one piece of work. The waits between them take about a second in all. */
const TRIES = 8

/** Time after which it is not tried again: each try may wait for a lock. */
const TRIES_MS = 5_000
const FIRST_WAIT_MS = 10
const LAST_WAIT_MS = 500

/**
 * Runs `work`, and retries it if the locks of another transaction were in the way, because then
 * nothing of it has been done: up to 8 tries within 5 s. Passes on any other failure.
 */
export async function unlocked<T>(environment: Environment, work: () => Promise<T>): Promise<T> {
  const { clock, random } = environment
  const until = clock.elapsed() + TRIES_MS
  for (let tries = 1, wait = FIRST_WAIT_MS; ; tries++, wait = Math.min(2 * wait, LAST_WAIT_MS)) {
    try {
      return await work()
    } catch (error) {
      const isLock = error instanceof DatabaseError && error.category === 'lock'
      if (!isLock || tries >= TRIES || clock.elapsed() >= until) throw error
    }
    await keptAlive(environment, () => sleep(clock, wait * (0.5 + random())))
  }
}
