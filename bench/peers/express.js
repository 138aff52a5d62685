// What the contenders share in an Express site: a visit is recorded when its response has been
// sent, and nobody waits for it. A visit whose `record` rejects is lost; nobody is told, as on a
// site.
import { setTimeout as delay } from 'node:timers/promises'

// Promises of memjs never end when their connection is closed under them.
const IDLE_TIMEOUT_MS = 5000

/** A request, as the contenders record it. */
export const visitOf = (req) => ({
  time: Date.now(),
  visitor: `${req.ip} ${req.get('user-agent')}`,
  page: req.path,
})

/** Middleware that records each request when its response has been sent. */
export const afterResponse = (record) => (req, res, next) => {
  res.on('finish', () => record(visitOf(req)))
  next()
}

export function tracker(record) {
  let pending = 0
  let recorded = 0
  function start(visit) {
    pending++
    record(visit)
      .then(
        () => void recorded++,
        () => {},
      )
      .finally(() => void pending--)
  }
  return {
    record: start,
    use: (app) => app.use(afterResponse(start)),
    /** All that was begun has ended. */
    async idle() {
      const deadline = performance.now() + IDLE_TIMEOUT_MS
      while (pending > 0 && performance.now() < deadline) await delay(10)
    },
    /** Visits whose `record` has resolved. */
    get recorded() {
      return recorded
    },
  }
}

/**
 * A contender. Before it is counted, all that requests have begun has ended, and `finish` has
 * brought it to where it belongs.
 */
export function contender(record, { count, close, flush, finish = async () => {} }) {
  const visits = tracker(record)
  const { use, idle } = visits
  const whole = async () => {
    await idle()
    await finish()
  }
  return {
    use,
    record: visits.record,
    flush: flush ?? idle,
    finish: whole,
    async count() {
      await whole()
      return count(visits)
    },
    async close() {
      await idle()
      await close()
    },
  }
}
