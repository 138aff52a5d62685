// An Express site, in one process or in a cluster, with a door (a port) for each contender: what
// the compiler and the system make of a process falls on all of them. Says its ports, then answers
// { question, door }: "settle" (until no work waits), "count"; and "cpu" and "close", which concern
// all doors.
import cluster from 'node:cluster'
import { once } from 'node:events'
import express from 'express'
import { render } from './page.js'

// Whoever has started it is gone, or it has been closed.
process.on('disconnect', () => process.exit())

const { contenders, processes, renderings, ...env } = JSON.parse(process.env.SITE)
const answers = processes > 1 && cluster.isPrimary ? await lead() : await serve()

process.on('message', async ({ question, door }) => {
  if (question === 'close') {
    await answers.close()
    process.disconnect()
  } else {
    process.send(
      await answers[question](door).then(
        (answer) => ({ answer }),
        (error) => ({ error: error.message }),
      ),
    )
  }
})
process.send({ answer: answers.ports })

async function serve() {
  const peers = await Promise.all(
    contenders.map(async ({ peer, mysqlUrl }) => {
      const { start } = await import(`../peers/${peer}.js`)
      return start({ ...env, mysqlUrl })
    }),
  )
  const apps = peers.map(() => express())
  // Requests of one shape, as on a site: else none of the process's code could be compiled for the
  // one it has.
  for (const app of apps) {
    Object.assign(app, { request: apps[0].request, response: apps[0].response })
  }
  const servers = []
  // In a cluster all workers are given the same free port for the first that they listen on, the
  // same for the second, …
  for (const [at, peer] of peers.entries()) servers.push(await listen(apps[at], peer))
  return {
    ports: servers.map((server) => server.address().port),
    async cpu() {
      const { user, system } = process.cpuUsage()
      return user + system
    },
    settle: async (door) => peers[door].settle?.(),
    count: async (door) => peers[door].count(),
    async close() {
      for (const server of servers) {
        server.closeAllConnections()
        server.close()
      }
      await Promise.all(peers.map((peer) => peer.close()))
    },
  }
}

async function listen(app, peer) {
  peer.use(app)
  app.get('/', (_req, res) => {
    res.type('html').send('<h1>hello</h1>')
  })
  app.get('/page', (_req, res) => {
    res.type('html').send(render(renderings))
  })
  const server = app.listen(0, '127.0.0.1')
  // No connection that rests between two rounds is to be closed under the next request.
  server.keepAliveTimeout = 600_000
  await once(server, 'listening')
  return server
}

async function lead() {
  const workers = Array.from({ length: processes }, () => cluster.fork())
  const [ports] = await Promise.all(workers.map(reply))
  async function inTurn(question, door) {
    let last
    for (const worker of workers) last = await ask(worker, question, door)
    return last
  }
  return {
    ports,
    async cpu() {
      const { user, system } = process.cpuUsage()
      const theirs = await Promise.all(workers.map((worker) => ask(worker, 'cpu')))
      return theirs.reduce((sum, cpu) => sum + cpu, user + system)
    },
    settle: (door) => inTurn('settle', door),
    // Each brings what it holds to where all is counted: the last one's count has everything.
    count: (door) => inTurn('count', door),
    async close() {
      await Promise.all(
        workers.map((worker) => {
          worker.send({ question: 'close' })
          return once(worker, 'exit')
        }),
      )
    },
  }
}

function ask(worker, question, door) {
  worker.send({ question, door })
  return reply(worker)
}

async function reply(worker) {
  const [{ answer, error }] = await once(worker, 'message')
  if (error !== undefined) throw new Error(error)
  return answer
}
