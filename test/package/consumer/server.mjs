// A site to be bundled. It visits itself and says what it has counted.
import { setTimeout as delay } from 'node:timers/promises'
import express from 'express'
import { createActivity } from 'wide-cache'

const activity = createActivity({ layerSeconds: 1, statsTtlSeconds: 1 })
const app = express()
app.use(activity.middleware())
app.use('/activity', activity.router())
app.get('/page', (_req, res) => res.send('<p>a page</p>'))
const server = app.listen(0, '127.0.0.1', async () => {
  const origin = `http://127.0.0.1:${server.address().port}`
  await (
    await fetch(`${origin}/page`, {
      headers: {
        'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/143.0',
        accept: 'text/html',
      },
    })
  ).text()
  const figures = async () => (await fetch(`${origin}/activity`)).json()
  let { pageViews } = await figures()
  for (const until = Date.now() + 60_000; pageViews < 1 && Date.now() < until;) {
    await delay(100)
    ;({ pageViews } = await figures())
  }
  const widget = await (await fetch(`${origin}/activity/widget.js`)).text()
  server.closeAllConnections()
  server.close()
  await activity.close()
  console.log(
    JSON.stringify({
      pageViews,
      widget: widget.includes('customElements.define'),
    }),
  )
})
