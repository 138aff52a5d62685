// A site to be bundled. It visits itself and says what it has counted.
import express from 'express'
import { createActivity } from 'wide-cache'

const activity = createActivity({ collect: false })
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
      },
    })
  ).text()
  await activity.flush()
  await activity.drain({ all: true })
  const { pageViews } = await (await fetch(`${origin}/activity`)).json()
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
