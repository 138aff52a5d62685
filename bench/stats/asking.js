/**
 * A web process of a site: told how many callers there are, it has them all ask for the figures at
 * once, and says what they were answered. Each time as a process that has not asked before.
 */
import { createActivity } from 'wide-cache'
import { answer } from '../harness/answer.js'

let activity

answer({
  async prepare({ memcached, mysqlUrl }) {
    await activity?.close()
    activity = createActivity({
      cache: `memcached://${memcached}`,
      database: mysqlUrl,
      collect: false,
    })
    await activity.migrate()
  },

  /** `method`: of the activity, with its arguments. */
  async call({ callers, method, args }) {
    const began = performance.now()
    const answers = await Promise.all(
      Array.from({ length: callers }, () => activity[method](...args)),
    )
    return {
      ms: performance.now() - began,
      answers: [...new Set(answers.map((answer) => JSON.stringify(answer)))],
    }
  },

  close: () => activity.close(),
})
