// How forum programs count views, beside wide-cache: commands a view, and what SIGKILL costs.
// `npm run build`, then, with a Redis and a PostgreSQL that nobody else uses:
// REDIS_URL=redis://127.0.0.1 DATABASE_URL=postgres://user:password@127.0.0.1/test \
//   node examples/view-counts/main.js
// `--views 2000` is how many views each way gets, `--json` prints the results as JSON.
import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createClient } from 'redis'

const AT_ONCE = 32
const THREADS = 50
const VIEWERS = 400
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0'

const { values: options } = parseArgs({
  options: { views: { type: 'string', default: '2000' }, json: { type: 'boolean' } },
})
const VIEWS = Number(options.views)
const { REDIS_URL: redisUrl, DATABASE_URL: databaseUrl } = process.env
if (!redisUrl || !databaseUrl) {
  console.error('Set REDIS_URL and DATABASE_URL (postgres://…) to servers that nobody else uses')
  process.exit(1)
}

const threads = Array.from({ length: THREADS }, (_, index) => `thread-${index + 1}`)
const redis = await createClient({ url: redisUrl }).connect()

/** Each viewer reads some threads, and every fifth view is of one that they have read before. */
const usualViews = Array.from({ length: VIEWS }, (_, n) => ({
  thread: threads[(n + Math.floor(n / VIEWERS) * (n % 5 === 0 ? 0 : 1)) % THREADS],
  viewer: `viewer-${n % VIEWERS}`,
}))
/** Each view is somebody else's, so each counts. */
const newViews = Array.from({ length: VIEWS }, (_, n) => ({
  thread: threads[n % THREADS],
  viewer: `newcomer-${n}`,
}))

async function start(way, run) {
  const site = fork(fileURLToPath(new URL('site.js', import.meta.url)), [way], {
    // What it logs is no result.
    stdio: ['ignore', 2, 2, 'ipc'],
    env: {
      ...process.env,
      VIEW_COUNTS: JSON.stringify({ redisUrl, databaseUrl, run, threads }),
    },
  })
  const [{ port }] = await once(site, 'message')
  return { site, origin: `http://127.0.0.1:${port}` }
}

/** Sends the views, some at once, and returns the moments at which they were answered. */
async function send(origin, views) {
  const agent = new Agent({ keepAlive: true })
  const answered = []
  for (let from = 0; from < views.length; from += AT_ONCE) {
    await Promise.all(
      views.slice(from, from + AT_ONCE).map(async ({ thread, viewer }) => {
        const headers = { 'user-agent': BROWSER, accept: 'text/html', 'x-viewer': viewer }
        const [response] = await once(
          get(`${origin}/threads/${thread}`, { headers, agent }),
          'response',
        )
        response.resume()
        await once(response, 'end')
        if (response.statusCode === 200) answered.push(performance.now())
      }),
    )
  }
  agent.destroy()
  return answered
}

async function settled(site) {
  site.send('settle')
  const [counted] = await once(site, 'message')
  return counted
}

async function end(site) {
  const exit = once(site, 'exit')
  site.send('close')
  await exit
}

/** Commands that Redis has carried out so far, without those of this program. */
async function redisCommands() {
  const stats = await redis.info('commandstats')
  return [...stats.matchAll(/^cmdstat_(?!info)\S+:calls=(\d+)/gm)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  )
}

async function costOf(way, run) {
  const { site, origin } = await start(way, run)
  const before = await redisCommands()
  const began = performance.now()
  const answered = await send(origin, usualViews)
  const { statements, pageViews, threadViews } = await settled(site)
  const commands = (await redisCommands()) - before
  await end(site)
  return {
    answered: answered.length,
    pageViews,
    threadViews,
    redisCommandsAView: commands / VIEWS,
    statementsAView: statements / VIEWS,
    viewsASecond: (1_000 * VIEWS) / (answered.at(-1) - began),
  }
}

async function lossOf(way, run) {
  const { site, origin } = await start(way, run)
  const answered = await send(origin, newViews)
  const exit = once(site, 'exit')
  site.kill('SIGKILL')
  const killed = performance.now()
  await exit
  // Another process finds what the killed one has left.
  const other = await start(way, run)
  const { pageViews, threadViews } = await settled(other.site)
  await end(other.site)
  return {
    answered: answered.length,
    answeredInLastSecond: answered.filter((at) => at > killed - 1_000).length,
    pageViewsLost: answered.length - pageViews,
    threadViewsLost: answered.length - threadViews,
  }
}

const results = {}
for (const way of ['usual', 'ours']) {
  results[way] = {
    cost: await costOf(way, randomUUID().slice(0, 8)),
    loss: await lossOf(way, randomUUID().slice(0, 8)),
  }
}
await redis.close()

if (options.json) console.log(JSON.stringify(results))
else {
  const line = (what, of, digits = 0) =>
    console.log(
      what.padEnd(44),
      ...['usual', 'ours'].map((way) => of(results[way]).toFixed(digits).padStart(14)),
    )
  console.log(''.padEnd(44), 'the usual way'.padStart(14), 'wide-cache'.padStart(14))
  line('views answered', ({ cost }) => cost.answered)
  line('views a second', ({ cost }) => cost.viewsASecond)
  line('page views counted', ({ cost }) => cost.pageViews)
  line('views of threads counted', ({ cost }) => cost.threadViews)
  line('commands to Redis a view', ({ cost }) => cost.redisCommandsAView, 2)
  line('statements to PostgreSQL a view', ({ cost }) => cost.statementsAView, 2)
  line('views answered before SIGKILL', ({ loss }) => loss.answered)
  line('  page views lost', ({ loss }) => loss.pageViewsLost)
  line('  views of threads lost', ({ loss }) => loss.threadViewsLost)
}
