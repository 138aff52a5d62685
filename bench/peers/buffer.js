// An array in the process, brought to SQL by bulk INSERTs every 10 s, as GoatCounter does; what SQL
// does not take is kept for the next time (GoatCounter lets it go). The INSERT is the web process's
// own work.
import { repeated } from './repeated.js'
import { contender } from './express.js'
import { openVisits } from './visits.js'

const FLUSH_MS = 10_000

export async function openBuffer(mysqlUrl) {
  const visits = await openVisits(mysqlUrl, 1)
  let buffer = []
  const { run: flush, stop } = repeated(async () => {
    const taken = buffer
    buffer = []
    if (taken.length === 0) return
    await visits.insert(taken).catch(() => (buffer = taken.concat(buffer)))
  }, FLUSH_MS)
  return {
    push: (visit) => void buffer.push(visit),
    flush,
    async count() {
      await flush()
      return visits.count()
    },
    async close() {
      stop()
      await flush()
      await visits.close()
    },
  }
}

export async function start({ mysqlUrl }) {
  const { push, flush, count, close } = await openBuffer(mysqlUrl)
  return contender(async (visit) => push(visit), { finish: flush, count, close })
}
