import { type Environment, systemEnvironment } from '../support/environment.js'

/** A clock on which `times` seconds pass in one. */
export function faster(times: number): Environment {
  const { clock } = systemEnvironment
  return {
    ...systemEnvironment,
    clock: {
      now: clock.now,
      elapsed: () => clock.elapsed() * times,
      after: (ms, callback) => clock.after(ms / times, callback),
    },
  }
}
