/** The writer processes of the loss experiment, told to do the same at the same time. */
import type { Child } from '../harness/child.js'
import type { Bench } from '../harness/part.js'
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

/** Report of one process on a job in the end. */
interface Windows {
  readonly id: string
  readonly windows?: { readonly milliseconds: number; readonly count: number }
}

export interface Written {
  /** Visits, by job. */
  readonly recorded: ReadonlyMap<string, number>
  /** The mean from `get` to `set`, in seconds, by job. */
  readonly windowSeconds: ReadonlyMap<string, number>
}

export class Writers {
  readonly #children: readonly Child[]

  constructor(bench: Bench, processes: number) {
    const program = new URL('./writer.js', import.meta.url)
    this.#children = Array.from({ length: processes }, () => bench.child(program))
  }

  /** `collect` is done when all is in the cache, while the writers are still there. */
  async write(
    jobs: readonly Job[],
    seconds: number,
    collect: () => Promise<void>,
  ): Promise<Written> {
    const shares = jobs.map((job) => ({ ...job, rate: job.rate / this.#children.length }))
    await this.#all('open', (process) => ({ process, jobs: shares }))
    const recorded = (
      await this.#all<{ id: string; recorded: number }[]>('go', () => ({ seconds }))
    ).flat()
    const windows = (await this.#all<Windows[]>('finish')).flat()
    await collect()
    await this.#all('close')
    return {
      recorded: new Map(
        jobs.map(({ id }) => [
          id,
          sum(recorded.filter((entry) => entry.id === id).map((entry) => entry.recorded)),
        ]),
      ),
      windowSeconds: new Map(
        jobs.flatMap(({ id }) => {
          const own = windows.flatMap((entry) =>
            entry.id === id && entry.windows ? [entry.windows] : [],
          )
          const count = sum(own.map((entry) => entry.count))
          return count === 0
            ? []
            : [[id, sum(own.map((entry) => entry.milliseconds)) / count / 1000] as const]
        }),
      ),
    }
  }

  #all<T>(step: string, what: (process: number) => object = () => ({})): Promise<T[]> {
    return Promise.all(this.#children.map((child, process) => child.ask<T>(step, what(process))))
  }
}
