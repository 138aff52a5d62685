// An Express app for each contender, on a port of its own and all in one process: what the compiler
// and the system make of a process falls on all of them. Sends its ports, then answers
// { question, app }: "flush" (until all that requests have begun is done), "finish" (until what
// they left is in SQL), "count"; and "cpu" and "close", which concern all apps.
import { once } from 'node:events'
import express from 'express'
import { render } from './page.js'

// Whoever has started it is gone, or it has been closed.
process.on('disconnect', () => process.exit())

const { contenders, renderings, ...env } = JSON.parse(process.env.SITE)
const answers = await serve()

process.on('message', async ({ question, app }) => {
  if (question === 'close') {
    await answers.close()
    process.disconnect()
  } else {
    process.send(
      await answers[question](app).then(
        (answer) => ({ answer }),
        (error) => ({ error: error.message }),
      ),
    )
  }
})
process.send({ answer: answers.ports })

async function serve() {
  const peers = await Promise.all(
    contenders.map(async ({ peer, ...own }) => {
      const { start } = await import(`../peers/${peer}.js`)
      return start({ ...env, ...own })
    }),
  )
  const apps = peers.map(() => express())
  // Requests of one form, as on a site: else none of the process's code could be compiled for the
  // one it has.
  for (const app of apps) {
    Object.assign(app, { request: apps[0].request, response: apps[0].response })
  }
  const servers = []
  for (const [at, peer] of peers.entries()) servers.push(await listen(apps[at], peer))
  return {
    ports: servers.map((server) => server.address().port),
    async cpu() {
      const { user, system } = process.cpuUsage()
      return user + system
    },
    flush: async (app) => peers[app].flush?.(),
    finish: async (app) => peers[app].finish?.(),
    count: async (app) => peers[app].count(),
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
  app.get(['/page', '/other'], (_req, res) => {
    res.type('html').send(render(renderings))
  })
  const server = app.listen(0, '127.0.0.1')
  // No connection that rests between two rounds is to be closed under the next request.
  server.keepAliveTimeout = 600_000
  await once(server, 'listening')
  return server
}
