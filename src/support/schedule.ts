import { createTask, validate } from 'node-cron'
import type { Clock, Timer } from './clock.js'
import { wrongType, wrongValue } from './options.js'

const ALLOWED =
  'a cron line such as "*/10 * * * * *" (every 10 seconds), true (as soon as a layer is old ' +
  'enough), or false'

/** Number of coming runs among which the longest wait between two is found. */
const RUNS_LOOKED_AT = 20

/** The longest wait before the wall clock is looked at again: it may have been set meanwhile. */
const LOOK_AGAIN_MS = 60_000

/**
 * Work of a task that is only asked for the times of its runs. Defined at the top level, because
 * node-cron keeps it, and with it everything in its scope, until the task is destroyed.
 */
const nothing = (): void => undefined

/** A schedule that has been started. */
export interface Schedule {
  stop(): void
}

/**
 * Returns the longest wait between two runs of a cron line, in seconds. @throws TypeError,
 * RangeError naming `option` if `line` is no cron line.
 */
export function cronPeriodSeconds(line: string, option = 'collect', allowed = ALLOWED): number {
  if (typeof line !== 'string') throw wrongType(option, line, allowed)
  if (!validate(line)) throw wrongValue(option, line, allowed)
  const task = createTask(line, nothing, { timezone: 'UTC' })
  try {
    const runs = task.getNextRuns(RUNS_LOOKED_AT)
    let longest = 0
    for (let i = 1; i < runs.length; i++) {
      longest = Math.max(longest, runs[i]!.getTime() - runs[i - 1]!.getTime())
    }
    return Math.ceil(longest / 1000)
  } finally {
    void task.destroy()
  }
}

/**
 * Returns the collecting period for `when`, a cron line or `true`, in seconds. @throws TypeError,
 * RangeError
 */
export function collectPeriodSeconds(when: string | true, layerSeconds: number): number {
  return when === true ? layerSeconds : cronPeriodSeconds(when)
}

/**
 * Runs `work` by a cron line, never twice at a time: the next run is planned when the last has
 * ended. `work` must not reject. node-cron only computes the times of runs. The waiting is done
 * here, on the monotonic clock. node-cron's own waiting stops for as long as the wall clock is set
 * back, and goes through every run that the clock was set forward over.
 */
export function schedule(line: string, work: () => Promise<unknown>, clock: Clock): Schedule {
  // Never started: it only tells when runs are.
  const task = createTask(line, nothing, { timezone: 'UTC' })
  let timer: Timer | undefined
  let stopped = false
  let last: number | undefined
  const plan = (): void => {
    if (stopped) return
    const now = clock.now()
    const next = task.getNextRuns(1)[0]?.getTime() ?? Infinity
    const ms = Math.max(1, next - now)
    // A timer may fire a moment before its time, which is then still to come.
    if (next === last || ms > LOOK_AGAIN_MS) timer = clock.after(Math.min(ms, LOOK_AGAIN_MS), plan)
    else {
      timer = clock.after(ms, () => {
        last = next
        void work().finally(plan)
      })
    }
  }
  plan()
  return {
    stop() {
      stopped = true
      timer?.cancel()
      void task.destroy()
    },
  }
}
