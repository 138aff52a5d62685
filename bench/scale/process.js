// One web process, many in one, or the collector. As web processes it records visits at a stated
// rate; as the collector it drains again and again. Either says what that took.
import { setTimeout as delay } from 'node:timers/promises'
import { createActivity, memcached, mysql } from 'wide-cache'
import { answer } from '../harness/answer.js'
import { generate } from './visits.js'

const PAUSE_MS = 500

let cache, database, draining, done
let activities = []
let stopped = false

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

  // The layers that lie between the making of the grid and now, all empty, and not of this
  // measurement.
  skip: () => activities[0].drain(),

  collect() {
    stopped = false
    done = { rows: 0, frames: 0, layers: 0, busyMs: 0, cpuMicros: 0 }
    draining = drainOn(activities[0])
  },

  // Goes on until `rows` have come, `patienceMs` at most.
  async finish({ rows, patienceMs }) {
    const deadline = performance.now() + patienceMs
    while (done.rows < rows && performance.now() < deadline) await delay(20)
    stopped = true
    await draining
    return done
  },

  ledger: () => activities[0].ledger(),

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

async function drainOn(activity) {
  while (!stopped) {
    const began = performance.now()
    const before = process.cpuUsage()
    const report = await activity.drain()
    const { user, system } = process.cpuUsage(before)
    done.layers += report.layers
    // A drain that finds nothing is no work that visits cause.
    if (report.frames > 0) {
      done.busyMs += performance.now() - began
      done.cpuMicros += user + system
      done.rows += report.committed
      done.frames += report.frames
    }
    await delay(PAUSE_MS)
  }
}
