import { createTask, validate } from 'node-cron'
import { wrongType, wrongValue } from '../support/options.js'

const ALLOWED = 'a cron line such as "*/10 * * * * *" (every 10 seconds), or false'

/** node-cron would print of runs that are let pass. */
const SILENT = { info() {}, warn() {}, error() {}, debug() {} }

/** How many coming runs are looked at to find the longest wait between two. */
const RUNS_LOOKED_AT = 20

/** A schedule that has been started. */
export interface Schedule {
  stop(): void
}

/** The longest wait between two runs of a cron line, in seconds. @throws TypeError, RangeError if it is none. */
export function cronPeriodSeconds(line: string): number {
  if (typeof line !== 'string') throw wrongType('collect', line, ALLOWED)
  if (!validate(line)) throw wrongValue('collect', line, ALLOWED)
  const task = createTask(line, () => undefined, { timezone: 'UTC' })
  try {
    const runs = task.getNextRuns(RUNS_LOOKED_AT)
    let longest = 0
    for (let i = 1; i < runs.length; i++) longest = Math.max(longest, runs[i]!.getTime() - runs[i - 1]!.getTime())
    return Math.ceil(longest / 1000)
  } finally {
    void task.destroy()
  }
}

/**
 * Runs `work` by a cron line; a run that is still going on lets the next one pass. `work` must not reject.
 * Missed runs need no care: a collector's next run simply goes a longer way.
 */
export function schedule(line: string, work: () => Promise<unknown>): Schedule {
  const task = createTask(line, work, { timezone: 'UTC', noOverlap: true, suppressMissedWarning: true, unref: true, logger: SILENT })
  void task.start()
  return { stop: () => void task.destroy() }
}
