/**
 * A web process that does not collect: says its port, answers every path with a page, those below
 * /threads as items, and stops on SIGTERM.
 */
import express from 'express'
import { createActivity, createHits, WideCache } from '../index.js'

const name = process.argv[2] ?? ''
const grid = { collect: false, layerSeconds: 1, drainAfterLayers: 2 } as const
const activity = createActivity({
  ...grid,
  name,
  statsTtlSeconds: 1,
  retentionHours: 48,
  historyDays: 3,
})
const hits = createHits({ ...grid, name, repeatSeconds: 86_400 })
const rows = new WideCache<string>({
  ...grid,
  name: `rows.${name}`,
  kind: 'clicks',
  commit: async () => {},
})
rows.append('a click')
const app = express()
app.use(
  '/threads/:id',
  hits.middleware({
    item: (req) => String(req.params['id']),
    viewer: (req) => String(req.query['viewer']),
  }),
  (_req, res) => void res.send('<p>a thread</p>'),
)
app.get(
  '/hits/:id',
  (req, res, next) =>
    void Promise.all([hits.count(req.params.id), hits.top(10), hits.ledger()]).then(
      ([count, top, ledger]) => res.json({ count, top, ledger }),
      next,
    ),
)
app.use(activity.middleware())
app.use('/activity', activity.router())
app.get(
  '/ledger',
  (_req, res, next) => void activity.ledger().then((report) => res.json(report), next),
)
app.use((_req, res) => void res.send('<p>a page</p>'))
// The first views would wait for the database, and have no visitor where it takes five seconds.
await Promise.all([activity.stats(), hits.ledger()])
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(typeof address === 'object' ? address?.port : address)
})
process.once('SIGTERM', () => {
  server.closeAllConnections()
  server.close()
  void Promise.all([activity.close(), hits.close(), rows.close()])
})
