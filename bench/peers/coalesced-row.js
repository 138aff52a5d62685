// A counter as one row of one table. Increments of a process wait for the UPDATE in flight, and
// share the next one.
import { start as startRow } from './update-one-row.js'

export async function start(options) {
  const row = await startRow(options)
  let last = Promise.resolve()
  let next
  function increment() {
    if (!next) {
      const own = (next = { n: 0 })
      own.done = last.then(() => {
        next = undefined
        return row.increment(own.n)
      })
      last = own.done.catch(() => {})
    }
    next.n++
    return next.done
  }
  return { ...row, increment }
}
