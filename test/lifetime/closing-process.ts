/**
 * Opens, uses and closes what the package exports by the name `argv[2]`, and prints what it left
 * behind. Then it must end by itself.
 */
import { type LeftBehind, leftBehind, pendingTimers } from './left-behind.js'
import assert from 'node:assert/strict'
import { writeSync } from 'node:fs'
import { type Closable, methodsOf, OPENERS, PORTS } from '../closable.js'

export interface Given {
  /** As a string of the package names them. For a port, both are its own. */
  readonly database: string
  readonly cache: string
  /** Whether the servers answer. */
  readonly healthy: boolean
}

export interface Outcome extends LeftBehind {
  /** Messages that the logger got. */
  readonly logged: number
}

const [, , key = '', json = ''] = process.argv
const { database, cache, healthy } = JSON.parse(json) as Given
let logged = 0
let onLog: (() => void) | undefined
const rejects = async (): Promise<void> => {
  logged++
  onLog?.()
  throw new Error('the logger rejects')
}
const logger = { info: rejects, warn: rejects, error: rejects }
const opener = OPENERS[key] ?? PORTS[key] ?? assert.fail(key)
const object = opener.make({ database, cache, logger }) as Closable

if (healthy) await object['migrate']?.()
const calls: Promise<unknown>[] = []
for (const method of key in PORTS ? Object.keys(opener.args) : methodsOf(object)) {
  if (method === 'close') continue
  const call = (async () => object[method]!(...(opener.args[method] ?? [])))()
  calls.push(call)
  if (healthy) await call
}
const ended = Promise.allSettled(calls)
if (!healthy) await Promise.race([ended, new Promise<void>((resolve) => (onLog = resolve))])
const [report, again] = await Promise.all([object.close(), object.close()])
assert.equal(again, report)
await object.close()
await ended
const timers = await pendingTimers()
const left = await leftBehind(100)
const print = (outcome: Outcome) => writeSync(1, JSON.stringify(outcome))
process.once('exit', () => print({ ...left, open: [...timers, ...left.open], logged }))
