// One web process, or many in one: records visits at a stated rate. Answers each message when it is
// done.
import { createActivity, memcached, mysql } from 'wide-cache'
import { answer } from '../harness/answer.js'
import { generate } from './visits.js'

let cache, database
let activities = []

answer({
  // `writers`: each is what a web process of its own would be to cache and database.
  async open({ servers, mysqlUrl, writers, options }) {
    cache = memcached(servers)
    database = mysql(mysqlUrl)
    activities = Array.from({ length: writers }, () =>
      createActivity({ ...options, cache, database, collect: false }),
    )
    await Promise.all(activities.map((activity) => activity.migrate()))
  },

  // The generator alone: what it costs is no cost of the wide cache.
  async idle(load) {
    let bytes = 0
    return metered(() =>
      generate(load, ({ visitor, page }) => {
        bytes += visitor.length + page.length
      }),
    )
  },

  async record(load) {
    return metered(async () => {
      const visits = await generate(load, (visit, made) =>
        activities[made % activities.length].record(visit),
      )
      await Promise.all(activities.map((activity) => activity.flush()))
      return visits
    })
  },

  async close() {
    await Promise.all(activities.map((activity) => activity.close()))
    await cache.close()
    await database.close()
    activities = []
  },
})

/** How many visits, when, and what CPU time they took, in microseconds. */
async function metered(work) {
  const before = process.cpuUsage()
  const began = Date.now()
  const visits = await work()
  const { user, system } = process.cpuUsage(before)
  return { visits, began, ended: Date.now(), cpuMicros: user + system }
}
