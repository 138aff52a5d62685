/** A process that brings to SQL what a site has left elsewhere: a collector, or a worker. */
import { Child } from '../harness/child.js'
import type { Bench } from '../harness/part.js'

/**
 * `peer`: the name of a file in `bench/peers/`. `env`: argument of its `startWorker()`. Asked to
 * "close" it first brings all that is left.
 */
export async function startWorker(bench: Bench, peer: string, env: object): Promise<Child> {
  const worker = new Child(new URL('../faults/worker.js', import.meta.url))
  bench.after(() => worker.end())
  await worker.ask('open', { workers: [{ peer, env }] })
  return worker
}
