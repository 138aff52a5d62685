/**
 * A process that records and collects at its parent's word, and sends what it logs. Its wall clock
 * can be moved. `recorder.ts` is the parent's side.
 */
import type { Logger } from '../../src/support/logger.js'
import { watchTurns } from '../servers/longest-turn.js'
import { assignment, openRecorded, rowsOf } from './recorded.js'
import type { Command, Setup } from './recorder.js'

const { rejectingLogger, ...given } = assignment() as unknown as Setup
const send = (line: string): void => void process.send?.({ line })
const sendAndReject = (line: string): Promise<never> => {
  send(line)
  return Promise.reject(new Error('the logger cannot write'))
}
const log = rejectingLogger ? sendAndReject : send
const logger: Logger = { info: log, warn: log, error: log }

const turns = watchTurns()
const wide = openRecorded(given, { logger, ...given })

let aheadMs = 0
const RealDate = Date
globalThis.Date = class extends RealDate {
  constructor(...parts: unknown[]) {
    super(...((parts.length === 0 ? [RealDate.now() + aheadMs] : parts) as [number]))
  }

  static override now(): number {
    return RealDate.now() + aheadMs
  }
} as DateConstructor

async function carryOut({ name, args }: Command): Promise<unknown> {
  const [first = 0, second = 0, third = 0] = args
  switch (name) {
    case 'append':
      for (const row of rowsOf(first, second, third)) wide.append(row)
      return undefined
    case 'flush':
      return wide.flush()
    case 'drain':
      return wide.drain()
    case 'ledger':
      return wide.ledger()
    case 'moveClock':
      aheadMs = first
      return undefined
    case 'longestTurn':
      return turns.take()
    case 'close':
      turns.stop()
      return wide.close()
  }
}

process.on('message', async (command: Command) => {
  try {
    process.send?.({ id: command.id, value: await carryOut(command) })
  } catch (error) {
    process.send?.({ id: command.id, error: String(error) })
  }
  if (command.name === 'close') process.disconnect?.()
})
process.send?.({ ready: true })
