/**
 * Records its rows at an even pace, saying how many it has; then waits to be closed. SIGTERM closes
 * it at any time, as a deploy would.
 */
import { assignment, openRecorded } from './recorded.js'

const TICK_MS = 50
/** Duration of recording, if nothing is in the way. */
const SECONDS = 8

const { writer, rows, ...given } = assignment()
const wide = openRecorded(given)
const aTick = Math.ceil(rows / ((SECONDS * 1000) / TICK_MS))
let number = 0
// Or it would end once all is recorded, and commit directly what collectors are to bring.
const alive = setInterval(() => undefined, 60_000)
const timer = setInterval(() => {
  process.send?.({ recorded: number })
  for (let i = 0; i < aTick && number < rows; i++) wide.append({ writer, number: number++ })
  if (number < rows) return
  clearInterval(timer)
  process.send?.({ recorded: number, done: true })
}, TICK_MS)

process.once('SIGTERM', async () => {
  clearInterval(timer)
  clearInterval(alive)
  const report = await wide.close()
  process.send?.({ recorded: number, closed: report }, () => process.disconnect?.())
})
