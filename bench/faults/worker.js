// The worker of a contender that has one of its own; at SIGTERM it finishes what nobody adds to any
// more.
const { peer, env } = JSON.parse(process.env.WORKER_PROCESS)
const { startWorker } = await import(`../peers/${peer}.js`)
const worker = await startWorker(env)
process.on('message', async () => {
  await worker.drain()
  await worker.close()
  process.exit()
})
process.on('disconnect', () => process.exit())
process.send('ready')
