// An Express app for each contender, on a port of its own and all in one process: what the
// compiler and the system make of a process falls on all of them. Asked to "open" it returns the
// ports. Of an app it is asked to "flush" (until all that requests have begun is done), to "finish"
// (until what they left is in SQL) and to "count".
import { once } from 'node:events'
import express from 'express'
import { answer } from '../harness/answer.js'
import { render } from './page.js'

let servers, peers, renderings

answer({
  /** Returns the ports. */
  async open({ contenders, ...env }) {
    renderings = env.renderings
    peers = await Promise.all(
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
    servers = await Promise.all(apps.map((app, at) => listen(app, peers[at])))
    return servers.map((server) => server.address().port)
  },
  cpu() {
    const { user, system } = process.cpuUsage()
    return user + system
  },
  flush: async ({ app }) => void (await peers[app].flush?.()),
  finish: async ({ app }) => void (await peers[app].finish?.()),
  count: ({ app }) => peers[app].count(),
  async close() {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
    await Promise.all(peers.map((peer) => peer.close?.()))
  },
})

async function listen(app, peer) {
  peer.use(app)
  app.get('/', (_req, res) => {
    res.type('html').send('<h1>hello</h1>')
  })
  app.get(['/page', '/other'], (_req, res) => {
    res.type('html').send(render(renderings))
  })
  const server = app.listen(0, '127.0.0.1')
  // No connection that rests, before its first request or between two, is to be closed under it.
  Object.assign(server, { keepAliveTimeout: 600_000, headersTimeout: 0, requestTimeout: 0 })
  await once(server, 'listening')
  return server
}
