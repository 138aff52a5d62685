// One INSERT per visit, and the response waits for it.
import { visitOf } from './express.js'
import { openVisits } from './visits.js'

export async function start({ mysqlUrl }) {
  const visits = await openVisits(mysqlUrl)
  return {
    use(app) {
      app.use((req, _res, next) => {
        void visits.insertOne(visitOf(req)).then(() => next(), next)
      })
    },
    count: visits.count,
    close: visits.close,
  }
}
