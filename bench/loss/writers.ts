/** The writer processes of the loss experiment, told to do the same at the same time. */
import type { Child } from '../harness/child.js'
import { sum } from '../harness/statistics.js'

/** One contender at one rate and width. */
export interface Job {
  /** Names its grid, and begins the pages of its visits. */
  readonly id: string
  readonly peer: string
  /** Visits a second of all processes together. */
  readonly rate: number
  /** Argument of its `start`. */
  readonly env: Readonly<Record<string, unknown>>
}

/** Report of one process on a job; `windows`: how long cells were open, where it knows. */
interface Report {
  readonly recorded: number
  readonly windows?: { readonly milliseconds: number; readonly count: number }
}

/**
 * Has writers in so many processes write. Returns the visits of each job, and its mean from `get`
 * to `set` in seconds, NaN where there is none. `collect` is done when all is in the cache, while
 * the writers are still there.
 */
export async function write(
  writers: readonly Child[],
  jobs: readonly Job[],
  seconds: number,
  collect: () => Promise<void>,
) {
  const all = <T>(step: string, what: (process: number) => object = () => ({})): Promise<T[]> =>
    Promise.all(writers.map((child, process) => child.ask<T>(step, what(process))))
  const shares = jobs.map((job) => ({ ...job, rate: job.rate / writers.length }))
  await all('open', (process) => ({ process, jobs: shares }))
  await all('go', () => ({ seconds }))
  const reports = await all<Report[]>('finish')
  await collect()
  await all('close')
  return jobs.map((_, at) => {
    const own = reports.map((ofProcess) => ofProcess[at]!)
    const windows = own.flatMap((report) => report.windows ?? [])
    const ms = sum(windows.map(({ milliseconds }) => milliseconds))
    return {
      recorded: sum(own.map(({ recorded }) => recorded)),
      windowSeconds: ms / sum(windows.map(({ count }) => count)) / 1000,
    }
  })
}
