/** One process of a run of many seeds: see seeds.ts. */
import { loadProtocol } from './protocol.js'
import { type Failure, MAX_FAILURES, type Progress, type Share } from './seeds.js'
import { simulate } from './simulate.js'

const TELLS_EVERY = 100
const LANES = 4

process.once('message', async (message) => {
  const { source, seeds } = message as Share
  const protocol = await loadProtocol(source)
  const failures: Failure[] = []
  let done = 0
  let rows = 0
  const tell = (end: boolean) => process.send!({ done, rows, failures, end } satisfies Progress)
  const waiting = seeds.values()
  const lane = async () => {
    for (const seed of waiting) {
      if (failures.length >= MAX_FAILURES) return
      try {
        const outcome = await simulate(protocol, seed)
        rows += outcome.rows
      } catch (error) {
        failures.push({
          seed,
          error:
            error instanceof Error
              ? error.name === 'BrokenPromise'
                ? error.message
                : (error.stack ?? error.message)
              : String(error),
        })
      }
      if (++done % TELLS_EVERY === 0) tell(false)
    }
  }
  // Worlds take turns at the event loop, whose own turns cost as much as an event.
  await Promise.all(Array.from({ length: LANES }, lane))
  tell(true)
  process.disconnect()
})
