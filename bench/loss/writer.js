// One writer process of the loss experiment: opens a contender for each job, records visits at
// random moments (Poisson), each with a page of its own, and says how many. Asked to "open", "go",
// "finish" and "close".
import { setTimeout as delay } from 'node:timers/promises'
import { answer } from '../harness/answer.js'

const VISITORS = 200
let jobs = []

answer({
  async open({ process: number, jobs: wanted }) {
    jobs = await Promise.all(
      wanted.map(async ({ id, peer, rate, env }) => {
        const { start } = await import(`../peers/${peer}.js`)
        return { rate, prefix: `/${id}/${number}/`, recorded: 0, contender: await start(env) }
      }),
    )
  },
  async go({ seconds }) {
    await Promise.all(jobs.map((job) => visitsFor(job, seconds)))
  },
  /**
   * All is in the cache. Answers how many visits were recorded, and how long cells were open to be
   * overwritten, where the contender knows.
   */
  async finish() {
    await Promise.all(jobs.map(({ contender }) => (contender.flush ?? contender.finish)()))
    return jobs.map(({ recorded, contender: { windows } }) => ({ recorded, windows }))
  },
  async close() {
    await Promise.all(jobs.map(({ contender }) => contender.close()))
    jobs = []
  },
})

async function visitsFor(job, seconds) {
  const end = performance.now() + seconds * 1000
  const gap = () => (-Math.log(1 - Math.random()) / job.rate) * 1000
  for (let next = performance.now() + gap(); next < end; next += gap()) {
    const wait = next - performance.now()
    if (wait > 0) await delay(wait)
    job.contender.record({
      time: Date.now(),
      visitor: `visitor ${Math.floor(Math.random() * VISITORS)}`,
      page: job.prefix + job.recorded++,
    })
  }
}
