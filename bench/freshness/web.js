// A web process of several sites: records visits at stated times, and asks for the figures all the
// while.
import { setTimeout as delay } from 'node:timers/promises'
import { createActivity, memcached, mysql } from 'wide-cache'
import { answer } from '../harness/answer.js'

const ASK_EVERY_MS = 50

const activities = new Map()
let cache, database

answer({
  /** `behindMs`: how far the process's wall clock is behind. */
  start({ servers, mysqlUrl, behindMs }) {
    const { now } = Date
    Date.now = () => now() - behindMs
    cache = memcached(servers)
    database = mysql(mysqlUrl)
  },

  async open({ sites }) {
    for (const { name, options } of sites) {
      const activity = createActivity({ ...options, name, cache, database })
      activities.set(name, activity)
      await activity.migrate()
    }
  },

  /** What `record` returns, of several sites at once, by their names. */
  async recordAll({ sites }) {
    const watched = await Promise.all(sites.map(record))
    return Object.fromEntries(sites.map(({ name }, at) => [name, watched[at]]))
  },

  record,

  async committed({ name }) {
    return (await activities.get(name).ledger()).committed
  },

  async close() {
    await Promise.all([...activities.values()].map((activity) => activity.close()))
    await cache.close()
    await database.close()
  },
})

/**
 * Records the visits of this process: of all `processes`, each makes its share of `rate` a second
 * from `from` on, for `seconds`, at drawn moments: at fixed ones, the median would depend on where
 * they lie in a layer. Asks for the figures until `until`. Returns when each visit was recorded,
 * and when the figures first said how many there are.
 */
async function record({ name, process, processes, rate, from, seconds, until }) {
  const activity = activities.get(name)
  const recorded = []
  const seen = []
  const asking = ask(activity, until, seen)
  const total = rate * seconds
  for (let visit = process; visit < total; visit += processes) {
    const wait = from + (1000 * (visit + Math.random())) / rate - wall()
    if (wait > 1) await delay(wait)
    recorded.push(wall())
    activity.record({ page: `/${visit % 100}`, visitor: `visitor ${visit % 1000}` })
  }
  await asking
  return { recorded, seen }
}

async function ask(activity, until, seen) {
  let last = 0
  while (wall() < until) {
    const { pageViews } = await activity.stats()
    if (pageViews !== last) seen.push([wall(), pageViews])
    last = pageViews
    await delay(ASK_EVERY_MS)
  }
}

/** The wall clock of the machine, whatever Date.now() says. */
function wall() {
  return performance.timeOrigin + performance.now()
}
