/** Runs the command of `argv`, and prints last, on a line of its own, what it has left open. */
import { type LeftBehind, leftBehind, untilOpen } from './left-behind.js'
import { writeSync } from 'node:fs'

export interface Left extends Pick<LeftBehind, 'open' | 'resources'> {
  readonly status: unknown
  /** How often a second signal would be listened to. */
  readonly signals: number
}

// It goes on until it is told to stop, which it is once it has asked cache and database.
if (process.argv[2] === 'collect') {
  void Promise.all([untilOpen(/memjs/), untilOpen(/mysql2/)]).then(() => process.emit('SIGTERM'))
}
await import('../../src/cli/main.js')
const status: unknown = process.exitCode
const signals = process.listenerCount('SIGTERM')
// A signal ends the process, so nobody takes back who listens to it.
for (const signal of ['SIGTERM', 'SIGINT']) process.removeAllListeners(signal)
const { open, resources } = await leftBehind(100)
writeSync(1, `\n${JSON.stringify({ status, signals, open, resources } satisfies Left)}`)
process.exit(0)
