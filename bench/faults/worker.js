// The process that brings to SQL what web processes have left elsewhere: a collector, or a worker,
// of each contender that has one. Asked to "close" it brings what nobody adds to any more.
const workers = await Promise.all(
  JSON.parse(process.env.WRITERS).map(async ({ peer, env, since }) => {
    const { startWorker } = await import(`../peers/${peer}.js`)
    return startWorker({ ...env, since })
  }),
)
process.on('message', async () => {
  for (const worker of workers) {
    await worker.drain()
    await worker.close()
  }
  process.exit()
})
process.on('disconnect', () => process.exit())
process.send('ready')
