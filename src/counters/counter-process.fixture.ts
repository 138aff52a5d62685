/** A process that increments a counter, and says what it was given: `counter database cache`. */
import { GlobalCounter } from './global-counter.js'
import { ShardedCounter } from './sharded-counter.js'

const CALLERS = 4
const [chosen, database, cache] = process.argv.slice(2)
const counter =
  chosen === 'global'
    ? new GlobalCounter({ name: 'test', database, cache })
    : new ShardedCounter({ name: 'test', database, cache })
let running = true
process.on('message', () => {
  running = false
})

await counter.migrate()
await Promise.all(
  Array.from({ length: CALLERS }, async () => {
    while (running) {
      // Said before, so that a killed process has not counted more than it has said: a busy parent
      // reads late, and what waits in this process ends with it.
      await new Promise((resolve) => process.send?.({ begun: 1 }, resolve))
      try {
        process.send?.({ value: (await counter.increment()) ?? 0 })
      } catch (error) {
        process.send?.(
          (error as { code?: string }).code === 'COUNTER_OUTCOME_UNKNOWN'
            ? { unknown: 1 }
            : { refused: 1 },
        )
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }),
)
await counter.close()
process.disconnect()
