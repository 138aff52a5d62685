// A collector in a process of its own: drains again and again, and says what it did and what that
// took.
import { setTimeout as delay } from 'node:timers/promises'
import { createActivity } from 'wide-cache'
import { answer } from '../harness/answer.js'

const PAUSE_MS = 500

let activity, draining, done
let stopped = false

answer({
  async open({ servers, mysqlUrl, options }) {
    activity = createActivity({
      ...options,
      cache: `memcached://${servers}`,
      database: mysqlUrl,
      collect: false,
    })
    await activity.migrate()
    // The layers that lie between the making of the grid and now, all empty, and not of this
    // measurement.
    await activity.drain()
  },

  async start() {
    stopped = false
    done = { rows: 0, frames: 0, layers: 0, busyMs: 0, cpuMicros: 0 }
    draining = drainOn()
  },

  // Goes on until `rows` have come, `patienceMs` at most.
  async finish({ rows, patienceMs }) {
    const deadline = performance.now() + patienceMs
    while (done.rows < rows && performance.now() < deadline) await delay(20)
    stopped = true
    await draining
    return done
  },

  ledger: () => activity.ledger(),

  close: () => activity.close(),
})

async function drainOn() {
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
