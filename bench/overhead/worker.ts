/** A process that brings to SQL what others have left elsewhere: collectors, or workers. */
import type { Child } from '../harness/child.js'
import type { Bench } from '../harness/part.js'

export const WORKER = new URL('./worker.js', import.meta.url)

/** `peer`: the name of a file in `bench/peers/`. `env`: argument of its `startWorker()`. */
interface Worker {
  readonly peer: string
  readonly env: object
}

/** Resolves when all have started. Asked to "close" it first brings all that is left. */
export async function startWorkers(bench: Bench, ...workers: readonly Worker[]): Promise<Child> {
  const child = bench.child(WORKER)
  await child.ask('open', { workers })
  return child
}
