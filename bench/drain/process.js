/**
 * A contender in a process of its own, without anything that a user's would not have. Asked to
 * bring so many visits to SQL it says how long that took, how long its event loop stood still, and
 * what memory the process has had.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { answer } from '../harness/answer.js'
import { NAME, visitAt } from './visits.js'

/** Visits made at a time, off the clock, for those who have them in memory. */
const CHUNK = 100_000

/**
 * How often the memory is looked at while the work goes on: the system's own peak would be that
 * since the start.
 */
const LOOK_MS = 50

/** How often the event loop is to turn; its histogram has how much later it does. */
const TURN_MS = 1

let peer

answer({
  async open({ peer: name, memcached, mysqlUrl, keep }) {
    const { open } = await import(`../peers/${name}.js`)
    peer = await open({ memcached, mysqlUrl, name: NAME, keep })
  },

  async bring({ from, count }) {
    let ms = 0
    let peak = 0
    const look = () => (peak = Math.max(peak, process.memoryUsage.rss()))
    const looking = setInterval(look, LOOK_MS)
    const turns = monitorEventLoopDelay({ resolution: TURN_MS })
    turns.enable()
    if (peer.reads === 'grid') ms = await timed(() => peer.bring(count))
    else {
      for (let at = 0; at < count; at += CHUNK) {
        const visits = Array.from({ length: Math.min(CHUNK, count - at) }, (_, i) =>
          visitAt(from, at + i),
        )
        ms += await timed(() => peer.bring(visits))
      }
    }
    turns.disable()
    clearInterval(looking)
    look()
    globalThis.gc()
    return {
      ms,
      heldMs: Math.max(0, turns.max / 1e6 - TURN_MS),
      peakMiB: peak / 2 ** 20,
      heapMiB: process.memoryUsage().heapUsed / 2 ** 20,
    }
  },

  close: () => peer.close(),
})

async function timed(work) {
  const began = performance.now()
  await work()
  return performance.now() - began
}
