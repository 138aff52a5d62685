// One INSERT per visit, not awaited by the request.
import { contender } from './express.js'
import { openVisits } from './visits.js'

export async function start({ mysqlUrl }) {
  const visits = await openVisits(mysqlUrl)
  return contender(visits.insertOne, visits)
}
