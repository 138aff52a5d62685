// A single-page site that counts the pages people look at: node examples/single-page/server.js,
// then http://localhost:3000. The server sends one document. The script in it shows the pages, so
// the server cannot know of them: seen.js reports them. Build the package first: npm run build.
import { fileURLToPath } from 'node:url'
import express from 'express'
import { createActivity } from 'wide-cache'

const PORT = Number(process.env.PORT ?? 3000)
const ASSETS = fileURLToPath(new URL('./assets', import.meta.url))

// The figures of the widget are those of seen views. Served views are counted beside them.
const activity = createActivity({ count: 'seen' })

const app = express()
app.use((_req, res, next) => {
  res.set(
    'Content-Security-Policy',
    "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; " +
      "require-trusted-types-for 'script'; trusted-types 'none'",
  )
  next()
})
app.use(activity.middleware())
app.use('/activity', activity.router())
app.use('/assets', express.static(ASSETS))
// Every address of the site is the same document.
app.get(['/', '/recipes/:name'], (_req, res) => res.sendFile('page.html', { root: ASSETS }))

const server = app.listen(PORT, () => {
  console.log(`The site is on http://localhost:${server.address().port}`)
})

process.once('SIGTERM', stop)
process.once('SIGINT', stop)

async function stop() {
  server.close()
  server.closeAllConnections()
  await activity.close()
}
