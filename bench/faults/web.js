// A web process of the fault experiment: a writer of each contender, with visits at an even pace,
// each with a page of its own, until "stop". When each visit came, it writes to a file before the
// visit is recorded: SIGKILL does not take that away.
import { openSync, writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { answer } from '../harness/answer.js'

const VISITORS = 200
// One timer for all writers: so many timers of their own would take more than what they do.
const TICK_MS = 20
const BYTES = 8
const writers = new Set()

let contenders

const bytes = Buffer.alloc(BYTES)
const ticking = setInterval(() => {
  const time = Date.now()
  for (const writer of writers) {
    for (; writer.next <= time; writer.next += writer.gap) {
      bytes.writeDoubleLE(time)
      writeSync(writer.times, bytes, 0, BYTES, writer.visits * BYTES)
      const visitor = `visitor ${Math.floor(Math.random() * VISITORS)}`
      writer.contender.record({ time, visitor, page: writer.prefix + writer.visits++ })
    }
  }
}, TICK_MS)

answer({
  // The timers of a contender begin with it, and nobody waits for that.
  open({ writers }) {
    contenders = writers.map(start)
  },
  stop: () => clearInterval(ticking),
  async close() {
    await Promise.all(contenders.map(async (contender) => (await contender).close()))
  },
})

async function start({ peer, env, rate, prefix, file }) {
  const { start } = await import(`../peers/${peer}.js`)
  const times = openSync(file, 'w')
  await delay(env.since - Date.now())
  const contender = await start(env)
  const gap = 1000 / rate
  writers.add({
    contender,
    prefix,
    times,
    gap,
    visits: 0,
    next: Date.now() + Math.random() * gap,
  })
  return contender
}
