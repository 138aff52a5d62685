/**
 * Others who insert into the same tables, in a process of its own: commits visits again and again,
 * and says how long that took.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { commitVisits } from '../../src/activity/commit.js'
import { MysqlDatabase } from '../../src/database/mysql/mysql.js'
import { visitAt } from '../drain/visits.js'
import { answer } from '../harness/answer.js'

/** Not the name whose rows are removed, so these stay. */
const NAME = 'beside'
const VISITS_A_COMMIT = 100
const PAUSE_MS = 20

let database: MysqlDatabase
let committing: Promise<void>
let stopped = false
let took: number[] = []

answer({
  open({ mysqlUrl }: { mysqlUrl: string }) {
    database = new MysqlDatabase(mysqlUrl)
    committing = commitOn()
  },

  /** Milliseconds of each commit since the last question, ascending. */
  took(): number[] {
    const ascending = took.sort((a, b) => a - b)
    took = []
    return ascending
  },

  async close() {
    stopped = true
    await committing
    await database.close()
  },
})

async function commitOn(): Promise<void> {
  while (!stopped) {
    const now = Date.now()
    const visits = Array.from({ length: VISITS_A_COMMIT }, (_, i) => visitAt(now, i))
    const began = performance.now()
    await database.transaction((tx) => commitVisits(visits, tx, { now, name: NAME }))
    took.push(performance.now() - began)
    await delay(PAUSE_MS)
  }
}
