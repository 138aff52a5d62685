/** Runs the command of `argv`, and prints last, on a line of its own, what it has left open. */
import { type LeftBehind, leftBehind } from './left-behind.js'
import { writeSync } from 'node:fs'

export interface Left extends Pick<LeftBehind, 'open' | 'resources'> {
  readonly status: unknown
  /** How often a second signal would be listened to. */
  readonly signals: number
}

const { error: print } = console
// A command that goes on until it is told to stop has begun.
console.error = (line: string) => {
  print(line)
  process.emit('SIGTERM')
}
await import('../../src/cli/main.js')
const status: unknown = process.exitCode
const signals = process.listenerCount('SIGTERM')
// A signal ends the process, so nobody takes back who listens to it.
for (const signal of ['SIGTERM', 'SIGINT']) process.removeAllListeners(signal)
const { open, resources } = await leftBehind(100)
writeSync(1, `\n${JSON.stringify({ status, signals, open, resources } satisfies Left)}`)
process.exit(0)
