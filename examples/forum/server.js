// A small forum that shows its own activity: npm start, then http://localhost:3000. With
// WIDE_CACHE_SERVERS and WIDE_CACHE_DATABASE_URL (or MEMCACHE_SERVERS and DATABASE_URL) it runs on
// memcached and MySQL, otherwise on memory and SQLite.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import express from 'express'
import {
  browser,
  campaign,
  country,
  createActivity,
  createHits,
  deviceClass,
  language,
  referrerHost,
  section,
  source,
  system,
} from 'wide-cache'
import { MAX_AUTHOR, MAX_TEXT, addReply, threadById, threads } from './content.js'
import { forumPage, messagePage, threadPage } from './pages.js'
import { startTraffic } from './traffic.js'

const { port, traffic, history } = settings()

/** How long all pages show the same views and histories of threads. */
const VIEWS_MS = 2000
const HISTORY_DAYS = 14
const DASHBOARD = '/admin/activity'

/** Of a demo with an invented history, whose name says so on the dashboard. */
const invented = history ? await inventedHistory() : {}

// createActivity() alone would do.
const activity = createActivity({
  ...invented,
  dimensions: {
    referrer: referrerHost(),
    campaign: campaign(),
    // A CDN would send it; here the simulated visitors do.
    country: country('cf-ipcountry'),
    device: deviceClass(),
    browser: browser(),
    system: system(),
    language: language(),
    section: section(),
    source: source(),
  },
  skip: (req) => req.path.startsWith(DASHBOARD),
})
const hits = createHits({ ...invented, name: 'threads' })

/** The figures of the last minutes, `undefined` at first. The activity caches them itself. */
const figures = newestOf(undefined, 0, () => activity.stats())
/** The views of all threads, by id. */
const views = newestOf(new Map(), VIEWS_MS, () => hits.counts(threads().map(({ id }) => id)))
/** The views of each of the last days, by thread. */
const histories = newestOf(new Map(), VIEWS_MS, async () => {
  const ids = threads().map(({ id }) => id)
  const days = await Promise.all(ids.map((id) => hits.history(id, { days: HISTORY_DAYS })))
  return new Map(ids.map((id, i) => [id, days[i]]))
})

const app = express()
app.disable('x-powered-by')
// The simulated visitors come through 127.0.0.1 and name their addresses in X-Forwarded-For.
app.set('trust proxy', 'loopback')

app.use((_req, res, next) => {
  res.set({
    'Content-Security-Policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " +
      "'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
  })
  next()
})
app.use(activity.middleware())
app.use('/activity', activity.router())
app.use(DASHBOARD, activity.dashboard({ authorize: isLocal, hits: [hits] }))
// Pictures with the views of a thread, for pages elsewhere.
app.use('/badges', hits.router({ allow: (id) => threadById(id) !== undefined }))
app.use(
  '/assets',
  express.static(fileURLToPath(new URL('./assets', import.meta.url)), {
    index: false,
    maxAge: '5m',
  }),
)

app.get('/', (_req, res) => {
  res.send(forumPage(threads(), views(), figures()))
})

app.get('/threads/:id', hits.middleware({ item: (req) => req.params.id }), (req, res, next) => {
  const thread = threadById(req.params.id)
  if (!thread) return next()
  res.send(threadPage(thread, readersOf(thread), figures()))
})

app.post(
  '/threads/:id/replies',
  express.urlencoded({ extended: false, limit: '32kb', parameterLimit: 10 }),
  (req, res, next) => {
    const thread = threadById(req.params.id)
    if (!thread) return next()
    const [author, text] = [req.body?.author, req.body?.text].map((value) =>
      typeof value === 'string' ? value.trim() : '',
    )
    if (!author || author.length > MAX_AUTHOR || !text || text.length > MAX_TEXT) {
      const message =
        `A reply needs a name of at most ${MAX_AUTHOR} characters and a text ` +
        `of at most ${MAX_TEXT}.`
      const rejected = { author, text, message }
      return res.status(400).send(threadPage(thread, readersOf(thread), figures(), rejected))
    }
    const reply = addReply(thread, author, text)
    res.redirect(303, `/threads/${thread.id}#reply-${reply.number}`)
  },
)

app.use((_req, res) => {
  res
    .status(404)
    .send(
      messagePage(
        'There is no such page',
        'It may have been moved, or never have been there.',
        figures(),
      ),
    )
})

app.use((error, _req, res, next) => {
  if (res.headersSent) return next(error)
  const status = error.status >= 400 && error.status < 500 ? error.status : 500
  if (status === 500) console.error(error)
  res
    .status(status)
    .send(
      messagePage(
        status === 500 ? 'Something went wrong' : 'That cannot be taken',
        'Go back and try it in another way.',
        figures(),
      ),
    )
})

const server = createServer(app)
let stopTraffic = () => {}

server.on('error', async (error) => {
  const taken = error.code === 'EADDRINUSE'
  console.error(
    taken
      ? `Port ${port} is taken. Choose another one: PORT=${port + 1} npm start`
      : `The forum cannot listen on port ${port}: ${error.message}`,
  )
  process.exitCode = 1
  await close()
})

server.listen(port, () => {
  const { port } = server.address()
  console.log(
    `The forum is on http://localhost:${port}` +
      (traffic ? ', with simulated visitors (--no-traffic leaves them out)' : '') +
      (history ? ', and an invented history' : ''),
  )
  console.log(`Its dashboard is on http://localhost:${port}${DASHBOARD}`)
  if (traffic) {
    stopTraffic = startTraffic(
      `http://127.0.0.1:${port}`,
      threads().map(({ id }) => `/threads/${id}`),
    )
  }
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGUSR2']) process.on(signal, stop)

/**
 * As docs/deployment.md says: the visits so far go to SQL, and meanwhile requests have a second to
 * end.
 */
async function stop() {
  stopTraffic()
  server.prependListener('request', (_req, res) => res.setHeader('Connection', 'close'))
  const ended = new Promise((resolve) => server.close(resolve))
  for (const one of [activity, hits]) {
    one
      .flush()
      .then(() => one.drain({ all: true }))
      .catch(() => {})
  }
  await Promise.race([ended, delay(1000)])
  server.closeAllConnections()
  await close()
  process.exit()
}

function close() {
  return Promise.all([activity.close(), hits.close()])
}

/** How often a thread has been read, in all and on each of the last days. */
function readersOf({ id }) {
  return { views: views().get(id), days: histories().get(id) }
}

/**
 * Whether a request comes from this machine, through no proxy. The forum has no accounts; a site
 * would look at its session: `(req) => req.session?.user?.isAdmin === true`.
 */
function isLocal(req) {
  return (
    ['127.0.0.1', '::1', '::ffff:127.0.0.1'].includes(req.socket.remoteAddress) &&
    /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(req.headers.host ?? '') &&
    req.httpVersion !== '1.0' &&
    !['forwarded', 'via', 'x-forwarded-for', 'x-real-ip'].some((name) => name in req.headers)
  )
}

/**
 * Returns a function that returns the newest value known: what `ask` has resolved to last, `first`
 * before. A page does not wait for its figures: it takes what an earlier page has asked for.
 *
 * @param everyMs how long pages share a value before one of them asks again
 */
function newestOf(first, everyMs, ask) {
  let newest = first
  let askedAt = -Infinity
  return () => {
    if (performance.now() - askedAt > everyMs) {
      askedAt = performance.now()
      ask().then(
        (value) => {
          newest = value
        },
        () => {},
      )
    }
    return newest
  }
}

/** Writes three months to a temporary file. Returns the options with which they are shown. */
async function inventedHistory() {
  const { writeHistory } = await import('./history.js')
  const folder = mkdtempSync(join(tmpdir(), 'wide-cache-forum-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'forum.db')
  const name = 'invented-forum'
  await writeHistory({
    file,
    activity: name,
    hits: 'threads',
    threads: threads().map(({ id }) => id),
  })
  return { name, database: `sqlite:${file}` }
}

function settings() {
  const databases = ['WIDE_CACHE_DATABASE_URL', 'DATABASE_URL']
  try {
    const { values } = parseArgs({
      options: { 'no-traffic': { type: 'boolean' }, history: { type: 'boolean' } },
    })
    const given = databases.find((name) => process.env[name])
    if (values.history && given) {
      throw new Error(`--history writes a database of its own, but ${given} names one`)
    }
    const port = process.env.PORT || '3000'
    if (!/^\d+$/.test(port) || Number(port) > 65_535) {
      throw new Error('PORT is to be a number from 0 to 65535')
    }
    return { port: Number(port), traffic: !values['no-traffic'], history: values.history }
  } catch (error) {
    console.error(`${error.message}\nUsage: PORT=3000 npm start -- [--no-traffic] [--history]`)
    process.exit(2)
  }
}
