// The access log of the web server, which has a line for each request anyway: a worker reads what
// is new every ten seconds. What a line can tell of a page view, it asks: method, status, user
// agent.
import { readFile } from 'node:fs/promises'
import { repeated } from './repeated.js'
import { openVisits } from './visits.js'

const EVERY_MS = 10_000
// nginx's own format, "combined". Its times are whole seconds.
const LINE = /^(\S+) \S+ \S+ \[([^\]]+)\] "GET (\S+) [^"]*" 200 \d+ "[^"]*" "([^"]*)"$/
const BOT = /bot|crawl|spider/i

export async function startWorker({ log, mysqlUrl }) {
  const visits = await openVisits(mysqlUrl, 1)
  let read = 0
  const { run, stop } = repeated(async () => {
    const fresh = (await readFile(log)).subarray(read)
    const whole = fresh.subarray(0, fresh.lastIndexOf('\n') + 1)
    const rows = whole.toString().split('\n').flatMap(visitIn)
    if (rows.length > 0) await visits.insert(rows)
    read += whole.length
  }, EVERY_MS)
  return {
    drain: run,
    async close() {
      stop()
      await visits.close()
    },
  }
}

function visitIn(line) {
  const [, address, time, page, agent] = LINE.exec(line) ?? []
  if (page === undefined || BOT.test(agent)) return []
  // `17/May/2026:10:00:00 +0200`
  const at = Date.parse(time.replaceAll('/', ' ').replace(':', ' '))
  return [{ time: at, visitor: `${address} ${agent}`, page }]
}
