// One contender's Express site in a process of its own: says its port, then answers "cpu", "count" and "close".
import express from 'express'

const { PEER, MEMCACHED: memcached, MYSQL_URL: mysqlUrl } = process.env
const { start } = await import(`./peers/${PEER}.js`)
const peer = start({ memcached, mysqlUrl })
const app = express()
peer.use(app)
app.get('/', (_req, res) => { res.type('html').send('<h1>hello</h1>') })
const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', async (message) => {
  if (message === 'cpu') {
    const { user, system } = process.cpuUsage()
    process.send(user + system)
  }
  if (message === 'count') process.send({ count: await peer.count() })
  if (message === 'close') {
    server.closeAllConnections()
    server.close()
    await peer.close()
    process.disconnect()
  }
})
