// One contender's Express site, in one process or in a cluster: says its port, then answers
// "cpu", "settle" (until no work waits), "count" and "close".
import cluster from 'node:cluster'
import { once } from 'node:events'
import express from 'express'
import { render } from './page.js'

// Whoever has started it is gone, or it has been closed.
process.on('disconnect', () => process.exit())

const { peer: name, processes, renderings, ...env } = JSON.parse(process.env.SITE)
const answers = processes > 1 && cluster.isPrimary ? await lead() : await serve()

process.on('message', async (question) => {
  if (question === 'close') {
    await answers.close()
    process.disconnect()
  } else {
    process.send(await answers[question]().then((answer) => ({ answer }), (error) => ({ error: error.message })))
  }
})
process.send({ answer: answers.port })

async function serve() {
  const { start } = await import(`../peers/${name}.js`)
  const peer = await start(env)
  const app = express()
  peer.use(app)
  app.get('/', (_req, res) => { res.type('html').send('<h1>hello</h1>') })
  app.get('/page', (_req, res) => { res.type('html').send(render(renderings)) })
  // In a cluster all workers are given the same free port.
  const server = app.listen(0, '127.0.0.1')
  // No connection that rests between two rounds is to be closed under the next request.
  server.keepAliveTimeout = 600_000
  await once(server, 'listening')
  return {
    port: server.address().port,
    async cpu() {
      const { user, system } = process.cpuUsage()
      return user + system
    },
    settle: async () => peer.settle?.(),
    count: async () => peer.count(),
    async close() {
      server.closeAllConnections()
      server.close()
      await peer.close()
    },
  }
}

async function lead() {
  const workers = Array.from({ length: processes }, () => cluster.fork())
  const ports = await Promise.all(workers.map(reply))
  async function inTurn(question) {
    let last
    for (const worker of workers) last = await ask(worker, question)
    return last
  }
  return {
    port: ports[0],
    async cpu() {
      const { user, system } = process.cpuUsage()
      const theirs = await Promise.all(workers.map((worker) => ask(worker, 'cpu')))
      return theirs.reduce((sum, cpu) => sum + cpu, user + system)
    },
    settle: () => inTurn('settle'),
    // Each brings what it holds to where all is counted: the last one's count has everything.
    count: () => inTurn('count'),
    async close() {
      await Promise.all(workers.map((worker) => {
        worker.send('close')
        return once(worker, 'exit')
      }))
    },
  }
}

function ask(worker, question) {
  worker.send(question)
  return reply(worker)
}

async function reply(worker) {
  const [{ answer, error }] = await once(worker, 'message')
  if (error !== undefined) throw new Error(error)
  return answer
}
