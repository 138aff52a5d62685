/**
 * Time that runs faster than the machine's, the same for a process and its database. Timers stay as
 * they are.
 */
import type { Database } from '../../src/database/database.js'
import { type Environment, systemEnvironment } from '../../src/support/environment.js'
import { wrapped, withClockAhead } from './wrapped.js'

export interface QuickTime {
  /** For the second argument of a wide cache. */
  readonly environment: Environment
  /** The database, its clock as far ahead as the environment's. */
  database(target: Database): Database
}

/** From now on, each second counts `factor` seconds. */
export function quickTime(factor: number): QuickTime {
  const began = performance.now()
  const gained = (): number => (performance.now() - began) * (factor - 1)
  const { clock } = systemEnvironment
  return {
    environment: wrapped(systemEnvironment, {
      clock: wrapped(clock, {
        now: () => clock.now() + gained(),
        elapsed: () => clock.elapsed() + gained(),
      }),
    }),
    database: (target) => withClockAhead(target, () => Math.floor(gained())),
  }
}
