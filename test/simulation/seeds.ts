import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'

/** A seed that breaks a promise. */
export interface Failure {
  readonly seed: number
  readonly error: string
}

/** The work of a worker process. */
export interface Share {
  readonly source: string
  readonly seeds: readonly number[]
}

/** A message of a worker process about its progress; the last one has `end`. */
export interface Progress {
  readonly done: number
  readonly rows: number
  readonly failures: readonly Failure[]
  readonly end: boolean
}

/** A worker stops after so many failures. */
export const MAX_FAILURES = 5

/** `count` seeds from 0 on, or from another one. */
export function firstSeeds(count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, index) => from + index)
}

/** Runs seeds in several processes. */
export async function runSeeds(options: {
  source: string
  seeds: readonly number[]
  processes: number
  progress?: (text: string) => void
}): Promise<{ failures: Failure[]; done: number; rows: number }> {
  const { source, seeds, processes, progress } = options
  let said = 0
  const latest: Progress[] = []
  await Promise.all(
    Array.from(
      { length: processes },
      (_, index) =>
        new Promise<void>((resolve, reject) => {
          const worker = fork(fileURLToPath(new URL('./worker.ts', import.meta.url)), {
            execArgv: TYPESCRIPT,
          })
          const share = seeds.filter((_, place) => place % processes === index)
          worker.send({ source, seeds: share } satisfies Share)
          worker.on('message', (message) => {
            const told = latest[index]?.failures.length ?? 0
            latest[index] = message as Progress
            for (const { seed, error } of latest[index].failures.slice(told)) {
              progress?.(`seed ${seed}: ${error}\n  again: npm run simulate -- --seed ${seed}`)
            }
            const done = latest.reduce((sum, one) => sum + one.done, 0)
            if (done - said >= 10_000) {
              said = done
              progress?.(`${done} seeds`)
            }
          })
          worker.on('exit', (code) =>
            latest[index]?.end
              ? resolve()
              : reject(
                  new Error(
                    `A worker of the simulation has ended with ${code} after ` +
                      `${JSON.stringify(latest[index])}`,
                  ),
                ),
          )
        }),
    ),
  )
  return {
    failures: latest.flatMap((one) => one.failures).sort((a, b) => a.seed - b.seed),
    done: latest.reduce((sum, one) => sum + one.done, 0),
    rows: latest.reduce((sum, one) => sum + one.rows, 0),
  }
}
