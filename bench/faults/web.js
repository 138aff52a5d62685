// A web process of the fault experiment: records visits at random moments (Poisson), each with a
// page of its own, from "go" to "stop". How many, it writes to a file before each one, so that
// SIGKILL does not take the count away.
import { openSync, writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const VISITORS = 200
const { peer, env, rate, prefix, file } = JSON.parse(process.env.WEB_PROCESS)
const { start } = await import(`../peers/${peer}.js`)
const contender = await start(env)
const count = openSync(file, 'w')
let running = true

const steps = {
  async go() {
    const gap = () => (-Math.log(1 - Math.random()) / rate) * 1000
    for (let next = performance.now() + gap(), visits = 0; running; next += gap()) {
      const wait = next - performance.now()
      if (wait > 0) await delay(wait)
      writeSync(count, String(visits + 1), 0)
      contender.record({
        time: Date.now(),
        visitor: `visitor ${Math.floor(Math.random() * VISITORS)}`,
        page: prefix + visits++,
      })
    }
  },
  stop() {
    running = false
  },
  async close() {
    await contender.close()
    process.exit()
  },
}

process.on('message', (step) => steps[step]())
process.on('disconnect', () => process.exit())
process.send('ready')
