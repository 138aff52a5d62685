/**
 * A process of a site: a web server that records, and that browsers report views to, or a pure
 * collector. Its parent tells it to step
 * its clock, to record a row that SQL refuses, or to record many at once or for a while. SIGTERM
 * closes it in order.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { openDatabase } from '../../src/database/open.js'
import { stepClock } from './stepping-clock.js'
import { ASSIGNMENT, type Assignment, monotonic, type Order } from './assignment.js'
import { TruthKeeper } from './truth.js'
import { openUses, PARTS } from './uses.js'
import { Reports } from './reports.js'

const TICK_MS = 20
const REPORT_MS = 100
const STEP_MS = 1_000
const VISITORS = 97
/**
 * Requests that are answered when the process closes already. Later ones, behind the last word of a
 * writer, no ledger can know.
 */
const ROWS_AFTER_CLOSE = 3

let closing = false
const assignment = JSON.parse(process.env[ASSIGNMENT] ?? '') as Assignment
const { life, rightAtZero } = assignment
/** The wall clock is that of a host, which may be wrong. */
const rightTime = (): number => rightAtZero + monotonic()
const uses = openUses(assignment)
const truth = assignment.truth === undefined ? undefined : new TruthKeeper(assignment.truth)
const browsers = truth && new Reports(uses.activity, life, truth, rightTime)
const record = (poison = false): void => {
  if (!truth) return
  const number = truth.row(rightTime(), poison)
  uses.recorded.append({ life, number: poison ? -1 - number : number })
  uses.activity.record({ visitor: `visitor ${number % VISITORS}`, page: `/${life}/${number}` })
  uses.hits.record(life)
}
const recordMany = (rows: number): void => {
  for (let recorded = 0; recorded < rows; recorded++) record()
}
const { database } = openDatabase(assignment.database)
const stepping = (async () => {
  while (!closing) {
    const answered = await database.now().catch(() => undefined)
    if (answered !== undefined) truth?.step(rightTime())
    await delay(STEP_MS)
  }
})()
// Keeps a collector alive, too.
const pace = setInterval(record, TICK_MS)
const reporting = setInterval(() => browsers?.send(), REPORT_MS)

process.on('message', (order: Order) => {
  if (closing) return
  if ('stepMs' in order) stepClock(order.stepMs)
  else if ('poison' in order) record(true)
  else if ('rows' in order) recordMany(order.rows)
  else {
    const rowsATick = (order.rowsASecond * TICK_MS) / 1000
    const flood = setInterval(() => {
      if (!closing) recordMany(rowsATick)
    }, TICK_MS).unref()
    setTimeout(() => clearInterval(flood), order.ms).unref()
  }
})
process.once('disconnect', orphaned)
process.once('SIGTERM', async () => {
  closing = true
  clearInterval(pace)
  clearInterval(reporting)
  await browsers?.end()
  truth?.closing(rightTime())
  const closed = Promise.all(PARTS.map((part) => uses[part].close()))
  for (let rows = 0; rows < ROWS_AFTER_CLOSE; rows++) record()
  const reports = await closed
  await stepping
  await database.close()
  truth?.closed(reports)
  process.off('disconnect', orphaned)
  process.disconnect()
})

/** Without its parent a process has no end. */
function orphaned(): void {
  process.exit(1)
}
