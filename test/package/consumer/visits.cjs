// What a newcomer's site does, with the embedded defaults: takes visits through Express, reads them
// back.
const { once } = require('node:events')
const { setTimeout: delay } = require('node:timers/promises')

exports.visits = async function visits(
  { createActivity, WideCache, memory, sqlite, CacheError },
  express,
) {
  const activity = createActivity({ layerSeconds: 1, statsTtlSeconds: 1, closeTimeoutMs: 60_000 })
  // Else a busy machine makes the tables for longer than a visit waits for the salt.
  await activity.migrate()
  const app = express()
  app.use(activity.middleware())
  app.use('/activity', activity.router())
  app.get('/page', (_req, res) => res.send('<p>a page</p>'))
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${server.address().port}`
  for (const agent of ['Firefox/143.0', 'Firefox/143.0', 'Chrome/141.0.0.0']) {
    await (
      await fetch(`${origin}/page`, {
        headers: { 'user-agent': `Mozilla/5.0 (X11; Linux x86_64) ${agent}`, accept: 'text/html' },
      })
    ).text()
  }
  const figures = async () => (await fetch(`${origin}/activity`)).json()
  let { pageViews, visitors } = await figures()
  for (const until = Date.now() + 300_000; pageViews < 3 && Date.now() < until;) {
    await delay(100)
    ;({ pageViews, visitors } = await figures())
  }
  const widget = await (await fetch(`${origin}/activity/widget.js`)).text()
  const { committed, lost } = await activity.ledger()
  server.closeAllConnections()
  server.close()
  await activity.close()

  let sum = 0
  const own = new WideCache({
    name: 'own',
    cache: memory(),
    database: sqlite(':memory:'),
    collect: false,
    closeTimeoutMs: 60_000,
    async commit(rows) {
      for (const row of rows) sum += row
    },
  })
  own.append(40)
  own.append(2)
  await own.close()

  return {
    pageViews,
    visitors,
    committed,
    lost,
    sum,
    widget: widget.includes('customElements.define'),
    error: new CacheError('CACHE_CLOSED', 'x') instanceof Error,
  }
}
