// The process that brings to SQL what web processes have left elsewhere: a collector, or a worker,
// of each contender that has one. Asked to "close" it brings what nobody adds to any more.
import { answer } from '../harness/answer.js'

let workers

answer({
  async open({ workers: wanted }) {
    workers = await Promise.all(
      wanted.map(async ({ peer, env }) => {
        const { startWorker } = await import(`../peers/${peer}.js`)
        return startWorker(env)
      }),
    )
  },
  async close() {
    await Promise.all(
      workers.map(async (worker) => {
        await worker.drain()
        await worker.close()
      }),
    )
  },
})
