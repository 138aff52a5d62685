/**
 * Collects, each second. With SLOW_COMMIT it says when it is in mid-transaction, and stays there a
 * while.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { assignment, insertRecorded, openRecorded } from './recorded.js'

const wide = openRecorded(assignment(), {
  async commit(rows, tx) {
    await insertRecorded(rows, tx)
    if (!process.env['SLOW_COMMIT']) return
    process.send?.({ inCommit: true })
    await delay(1000)
  },
})
// The schedule alone does not keep a process alive.
const alive = setInterval(() => undefined, 60_000)
process.once('SIGTERM', async () => {
  clearInterval(alive)
  await wide.close()
  process.disconnect?.()
})
