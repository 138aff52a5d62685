// (d) One INSERT per visit, not awaited by the request.
import { tracker } from './express.js'
import { openVisits } from './visits.js'

export async function start({ mysqlUrl }) {
  const visits = await openVisits(mysqlUrl)
  const { record, use, idle } = tracker(visits.insertOne)
  return {
    use,
    record,
    flush: idle,
    finish: idle,
    async count() {
      await idle()
      return visits.count()
    },
    async close() {
      await idle()
      await visits.close()
    },
  }
}
