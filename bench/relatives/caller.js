// A caller in a process of its own, as a web process has one: opens counters, and calls one of them
// again and again. Asked to "open", "warmUp" and "call".
import { ShardedCounter } from 'wide-cache/counters'
import { answer } from '../harness/answer.js'
import { start } from '../peers/update-one-row.js'

let counters = []

answer({
  /** The counters by their numbers: one row, or a ShardedCounter of so many shards. */
  async open({ counters: wanted, memcached }) {
    counters = await Promise.all(
      wanted.map(async ({ name, mysqlUrl, shards }) => {
        if (shards === 0) return start({ mysqlUrl, connections: 1, table: name })
        const database = `${mysqlUrl}?connectionLimit=1`
        const counter = new ShardedCounter({
          name,
          database,
          cache: `memcached://${memcached}`,
          shards,
        })
        // The first one also opens what the later ones find open.
        await counter.increment(0)
        return counter
      }),
    )
  },

  async warmUp({ counter, calls }) {
    for (let i = 0; i < calls; i++) await counters[counter].increment()
  },

  /** The milliseconds of each call, and the seconds of all. */
  async call({ counter, ms }) {
    const latencies = []
    const began = performance.now()
    let now = began
    while (now - began < ms) {
      await counters[counter].increment()
      const after = performance.now()
      latencies.push(after - now)
      now = after
    }
    return { latencies, seconds: (now - began) / 1000 }
  },
})
