// The process that process-per-visit.js starts.
import { openVisits } from './visits.js'

const [mysqlUrl, visit] = process.argv.slice(2)
const visits = await openVisits(mysqlUrl, 1)
await visits.insertOne(JSON.parse(visit))
await visits.close()
