import { createTask, validate } from 'node-cron'
import type { Clock, Timer } from './clock.js'
import { wrongType, wrongValue } from './options.js'

/** Number of coming moments among which the longest wait between two is found. */
const MOMENTS_LOOKED_AT = 20

/** The longest wait before the wall clock is looked at again: it may have been set meanwhile. */
const LOOK_AGAIN_MS = 60_000

/**
 * Work of a task that is only asked for its moments. Defined at the top level, because node-cron
 * keeps it, and with it everything in its scope, until the task is destroyed.
 */
const nothing = (): void => undefined

/** The next moment, in milliseconds since the Unix epoch, and how long it is until then. */
interface Wait {
  readonly at: number
  readonly ms: number
}

/** A schedule that has been started. */
export interface Schedule {
  stop(): void
}

/**
 * Returns the longest wait between two moments of a cron line, in seconds. @throws TypeError,
 * RangeError naming `option`, and what it allows, if `line` is no cron line.
 */
export function cronPeriodSeconds(line: unknown, option: string, allowed: string): number {
  if (typeof line !== 'string') throw wrongType(option, line, allowed)
  if (!validate(line)) throw wrongValue(option, line, allowed)
  const task = createTask(line, nothing, { timezone: 'UTC' })
  try {
    const moments = task.getNextRuns(MOMENTS_LOOKED_AT)
    let longest = 0
    for (let i = 1; i < moments.length; i++) {
      longest = Math.max(longest, moments[i]!.getTime() - moments[i - 1]!.getTime())
    }
    return Math.ceil(longest / 1000)
  } finally {
    void task.destroy()
  }
}

/**
 * Runs `work` at the moments of a cron line, with the milliseconds until the next moment. Never
 * runs it twice at a time: moments that come while it runs count as one, when it has ended. `work`
 * must not reject. node-cron only computes the moments. The waiting is done here, on the monotonic
 * clock. node-cron's own waiting stops for as long as the wall clock is set back, and goes through
 * every moment that the clock was set forward over.
 */
export function schedule(
  line: string,
  work: (msToNext: number) => Promise<unknown>,
  clock: Clock,
): Schedule {
  // Never started: it only tells the moments.
  const task = createTask(line, nothing, { timezone: 'UTC' })
  let timer: Timer | undefined
  let stopped = false
  let last: number | undefined
  // The second one is asked for only where it must be: node-cron formats dates to find one.
  const next = (): Wait => {
    const now = clock.now()
    let [moment] = task.getNextRuns(1)
    // A timer may fire a moment before its time, which is then still to come.
    if (moment?.getTime() === last) moment = task.getNextRuns(2)[1]
    const at = moment?.getTime() ?? Infinity
    return { at, ms: Math.max(1, at - now) }
  }
  const run = (moment: number): void => {
    last = moment
    const { at, ms } = next()
    void work(ms).finally(() => {
      const left = at - clock.now()
      if (stopped) return
      if (left <= 0) run(at)
      else if (left <= ms) wait({ at, ms: left })
      // The wall clock has been set back meanwhile.
      else plan()
    })
  }
  const wait = ({ at, ms }: Wait): void => {
    timer = ms > LOOK_AGAIN_MS ? clock.after(LOOK_AGAIN_MS, plan) : clock.after(ms, () => run(at))
  }
  const plan = (): void => {
    if (!stopped) wait(next())
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
