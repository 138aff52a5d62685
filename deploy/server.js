// A site as it runs in production: a collector of its own elsewhere, health and metrics on a port
// that is not published, and an end that loses no visit.
import { setTimeout as delay } from 'node:timers/promises'
import express from 'express'
import { createActivity } from 'wide-cache'

const activity = createActivity({ collect: false })

const app = express()
app.disable('x-powered-by')
if (process.env.TRUST_PROXY) trust(process.env.TRUST_PROXY)
app.use(activity.middleware())
app.use('/activity', activity.router())
app.get('/', (_req, res) => {
  res.send(
    '<!doctype html><html lang="en"><title>A site</title><h1>A site</h1>' +
      '<script type="module" src="/activity/widget.js"></script><site-activity></site-activity>',
  )
})

const operations = express()
operations.disable('x-powered-by')
operations.use((_req, res, next) => {
  res.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' })
  next()
})
operations.get('/healthz', (_req, res) => {
  const { live, reasons } = activity.health()
  res.status(live ? 200 : 503).json({ live, reasons })
})
operations.get('/readyz', (_req, res) => {
  const { ready, reasons } = activity.health()
  res.status(ready ? 200 : 503).json({ ready, reasons })
})
operations.get('/metrics', async (_req, res) => {
  res.type('text/plain; version=0.0.4').send(await activity.metrics())
})

// The proxies before this site: their number, or their addresses. Without them all visitors count
// as one. Express takes a text for addresses.
function trust(proxies) {
  try {
    app.set('trust proxy', /^[1-9]\d?$/.test(proxies) ? Number(proxies) : proxies)
  } catch {
    throw new Error(
      `TRUST_PROXY is "${proxies}"; allowed: the number of proxies before the site, such as 1, ` +
        'or their addresses, such as "loopback" or "10.0.0.0/8,192.0.2.1"',
    )
  }
}

const server = app.listen(process.env.PORT || 3000)
// Each worker of a cluster has the next port: on one port, each scrape would reach another worker.
const worker = Number(process.env.NODE_APP_INSTANCE || 0)
const operationsServer = operations.listen(Number(process.env.OPERATIONS_PORT || 9465) + worker)

for (const signal of ['SIGINT', 'SIGTERM', 'SIGUSR2']) process.on(signal, stop)

// docs/deployment.md, "Shut down cleanly", says why each step is needed.
async function stop() {
  server.prependListener('request', (_req, res) => res.setHeader('Connection', 'close'))
  const ended = new Promise((resolve) => server.close(resolve))
  activity
    .flush()
    .then(() => activity.drain({ all: true }))
    .catch(() => {})
  await Promise.race([ended, delay(1000)])
  server.closeAllConnections()
  await activity.close()
  operationsServer.close()
  process.exit()
}
