/**
 * A web process of a site: told how many callers there are, it has them all ask for the figures at once, and says
 * what they were answered. Each time as a process that has not asked before.
 */
import { createActivity } from 'wide-cache'

const { MEMCACHED, MYSQL_URL } = process.env
let activity

process.on('message', async ({ prepare, callers, close }) => {
  if (prepare || close) await activity?.close()
  if (close) return process.disconnect()
  if (prepare) {
    activity = createActivity({ cache: `memcached://${MEMCACHED}`, database: MYSQL_URL, collect: false })
    await activity.migrate()
    return process.send({ ready: true })
  }
  const began = performance.now()
  const answers = await Promise.all(Array.from({ length: callers }, () => activity.stats()))
  process.send({ ms: performance.now() - began, answers: [...new Set(answers.map((answer) => JSON.stringify(answer)))] })
})
process.send({ ready: true })
