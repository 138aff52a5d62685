// A site of one process on the cache that it is told: it records at an even pace, and brings to SQL
// or watches how that goes on.
import { setTimeout as delay } from 'node:timers/promises'
import { createActivity } from 'wide-cache'
import { answer } from '../harness/answer.js'

const TICK_MS = 10
const LOOK_MS = 50
/** Longer than any recovery takes: writers commit directly a minute after a fault at the latest. */
const LIMIT_MS = 180_000

let activity

answer({
  async open({ options }) {
    activity = createActivity(options)
    await activity.migrate()
  },

  /** CPU time of recording and placing, then time of bringing all to SQL. */
  async bring({ rate, count }) {
    const cpu = process.cpuUsage()
    await record(rate, count)
    await activity.flush()
    const { user, system } = process.cpuUsage(cpu)
    const began = performance.now()
    const { committed } = await activity.drain({ all: true })
    if (committed !== count) throw new Error(`${committed} of ${count} visits were in the cache`)
    return { cpuUs: (user + system) / count, ms: performance.now() - began }
  },

  /** When each visit was recorded, and when the figures first had so many. */
  async watch({ rate, count }) {
    const before = (await activity.ledger()).committed
    const recorded = []
    const recording = record(rate, count, (at) => recorded.push(at))
    const seen = []
    await look(
      async () => (await activity.stats()).pageViews - before,
      (pageViews) => {
        if (pageViews !== (seen.at(-1)?.[1] ?? 0)) seen.push([performance.now(), pageViews])
        return pageViews >= count
      },
    )
    await recording
    return { recorded, seen }
  },

  /** When all of `count` visits were in SQL, by the wall clock, and how many were lost. */
  async outlive({ rate, count }) {
    const before = await activity.ledger()
    await record(rate, count)
    await look(
      async () => (await activity.ledger()).committed - before.committed,
      (committed) => committed >= count,
    )
    const at = Date.now()
    return { at, lost: (await activity.ledger()).lost - before.lost }
  },

  close: () => activity.close(),
})

async function record(rate, count, onEach = () => {}) {
  const began = performance.now()
  for (let visit = 0; visit < count;) {
    const due = Math.min(count, ((performance.now() - began) / 1000) * rate)
    for (; visit < due; visit++) {
      onEach(performance.now())
      activity.record({ page: `/${visit % 100}`, visitor: `visitor ${visit % 1000}` })
    }
    await delay(TICK_MS)
  }
}

async function look(read, isLast) {
  const until = performance.now() + LIMIT_MS
  while (!isLast(await read())) {
    if (performance.now() > until) throw new Error(`not within ${LIMIT_MS / 1000} s`)
    await delay(LOOK_MS)
  }
}
