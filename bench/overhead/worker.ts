/** A process that brings to SQL what a site has left elsewhere: a collector, or a worker. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Bench } from '../harness/part.js'

/** `peer`: the name of a file in `bench/peers/`. `env`: argument of its `startWorker()`. */
export async function startWorker(
  bench: Bench,
  peer: string,
  env: Readonly<Record<string, unknown>>,
): Promise<ChildProcess> {
  const worker = fork(new URL('../faults/worker.js', import.meta.url), {
    execArgv: [],
    env: { ...process.env, WRITERS: JSON.stringify([{ peer, env }]) },
  })
  bench.after(() => worker.kill('SIGKILL'))
  await once(worker, 'message')
  return worker
}

/** Resolves when it has brought all to SQL and ended. */
export async function endWorker(worker: ChildProcess): Promise<void> {
  const exit = once(worker, 'exit')
  worker.send('close')
  await exit
}
