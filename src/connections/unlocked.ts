import { DatabaseError } from '../database/database.js'
import { sleep } from '../support/clock.js'
import { type Environment, keptAlive } from '../support/environment.js'

/** Tries of one piece of work; with the waits between them a second and a half. */
const TRIES = 8
const FIRST_WAIT_MS = 10
const LAST_WAIT_MS = 500

/**
 * Runs `work`, and retries it if the locks of another transaction were in the way, because then
 * nothing of it has been done. Passes on any other failure.
 */
export async function unlocked<T>(environment: Environment, work: () => Promise<T>): Promise<T> {
  for (let tries = 1, wait = FIRST_WAIT_MS; ; tries++, wait = Math.min(2 * wait, LAST_WAIT_MS)) {
    try {
      return await work()
    } catch (error) {
      if (tries >= TRIES || !(error instanceof DatabaseError) || error.category !== 'lock') {
        throw error
      }
    }
    const { clock, random } = environment
    await keptAlive(environment, () => sleep(clock, wait * (0.5 + random())))
  }
}
