/** A web process that does not collect: says its port, answers every path with a page, and stops on SIGTERM. */
import express from 'express'
import { createActivity } from '../index.js'

const activity = createActivity({ name: process.argv[2], collect: false, layerSeconds: 1, drainAfterLayers: 1, statsTtlSeconds: 1 })
const app = express()
app.use(activity.middleware())
app.use('/activity', activity.router())
app.get('/ledger', (_req, res, next) => void activity.ledger().then((report) => res.json(report), next))
app.use((_req, res) => void res.send('<p>a page</p>'))
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(typeof address === 'object' ? address?.port : address)
})
process.once('SIGTERM', () => {
  server.closeAllConnections()
  server.close()
  void activity.close()
})
