// A process of the forum, started by main.js: `site.js usual` or `site.js ours`. It says its port,
// and answers each message with what has been counted.
import { once } from 'node:events'
import express from 'express'
import pg from 'pg'
import { ours } from './ours.js'
import { usual } from './usual.js'

// Both ways speak to PostgreSQL by pg, so this sees every statement.
let statements = 0
const { query } = pg.Client.prototype
pg.Client.prototype.query = function (...args) {
  statements++
  return query.apply(this, args)
}

const way = await { usual, ours }[process.argv[2]](JSON.parse(process.env.VIEW_COUNTS))
const app = express()
app.get('/threads/:id', way.middleware, (req, res) =>
  res.send(`<!doctype html><title>${req.params.id}</title>`),
)
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
statements = 0
process.send({ port: server.address().port })

process.on('message', async (message) => {
  if (message === 'settle') {
    await way.settle()
    const used = statements
    process.send({ statements: used, ...(await way.counted()) })
  } else {
    server.close()
    server.closeAllConnections()
    await way.close()
    process.disconnect()
  }
})
