// How often each article has been read, in a shop window of an Express site: `npm run build`, then
// `node examples/classes/hits.js`. It needs no service: the hits gather in memory and are counted
// in an SQLite file. With WIDE_CACHE_SERVERS and WIDE_CACHE_DATABASE_URL set (or MEMCACHE_SERVERS
// and DATABASE_URL), the very same lines count in memcached and MySQL, on any number of servers.
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import { createHits } from 'wide-cache'

const folder = await mkdtemp(join(tmpdir(), 'wide-cache-hits-'))
// The package reads the variables itself. Where none is set, a file that goes with this example.
process.env.DATABASE_URL ||= `sqlite:${join(folder, 'site.db')}`
const hits = createHits({ name: 'articles' })

const AUTHORS = { bells: 'ottilie', bread: 'kwame' }

const app = express()
// Who is logged in; a real site takes that from its session.
app.use((req, _res, next) => {
  req.user = req.get('x-user')
  next()
})
app.get(
  '/articles/:id',
  hits.middleware({
    item: (req) => req.params.id,
    viewer: (req) => req.user ?? req.ip,
    owner: (req) => AUTHORS[req.params.id],
  }),
  (req, res) => res.send(`<h1>${AUTHORS[req.params.id] ? 'An article' : 'Not yet written'}</h1>`),
)

const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const read = async (user, article) => {
  const headers = {
    'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0',
    accept: 'text/html',
    'x-user': user,
  }
  await (
    await fetch(`http://127.0.0.1:${server.address().port}/articles/${article}`, { headers })
  ).text()
}

try {
  for (const user of ['anna', 'bert', 'anna', 'anna', 'kwame', 'ottilie']) await read(user, 'bells')
  for (const user of ['bert', 'kwame']) await read(user, 'bread')
  server.close()
  await once(server, 'close')

  // The package does this by itself, every three seconds.
  await hits.flush()
  await hits.drain({ all: true })

  console.log(
    `"bells" was read by three: anna and bert and kwame. It has ${await hits.count('bells')} ` +
      'hits: ' +
      'anna counts once in half an hour, and its author ottilie never',
  )
  console.log('a list of articles asks once:', await hits.counts(['bells', 'bread', 'unread']))
  console.log('the most read of all:', await hits.top(1))
} finally {
  await hits.close()
  await rm(folder, { recursive: true, force: true })
}
