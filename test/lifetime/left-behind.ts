/** What has been opened in this process and not closed again. Imported before all else. */
import { createHook } from 'node:async_hooks'
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'

/** Timers, also those that do not keep the process alive, sockets, pipes and threads. */
const KINDS = /^(?:Timeout|TCPWRAP|TCPSERVERWRAP|PIPEWRAP|UDPWRAP|MESSAGEPORT)$/
/** So many looks take at least their milliseconds, and more on a busy machine. */
const LOOK_MS = 10

Error.stackTraceLimit = 30
// Node opens them at their first use, and leaves them open.
void [process.stdout, process.stderr]

const open = new Map<number, string>()
/** Whether this file sets its own timer. */
let own = false
createHook({
  init(id, kind) {
    if (!own && KINDS.test(kind)) open.set(id, new Error(kind).stack ?? kind)
  },
  destroy(id) {
    open.delete(id)
  },
}).enable()

const listeners = (): string[] =>
  process.eventNames().map((name) => `${String(name)}: ${process.listenerCount(name)}`)

const rejections: string[] = []
process.on('unhandledRejection', (reason) => rejections.push(String(reason)))
const before = { resources: process.getActiveResourcesInfo().length, listeners: listeners() }

export interface LeftBehind {
  /** Of timers, sockets and threads, where they were opened. */
  readonly open: readonly string[]
  readonly listeners: readonly string[]
  /** Rejections that nobody handled, so far. */
  readonly rejections: readonly string[]
  /** What keeps the process alive. */
  readonly resources: readonly string[]
}

/** Returns the timers that are set, once the event loop has had some turns. */
export async function pendingTimers(): Promise<string[]> {
  for (let turns = 0; turns < 5; turns++) await turn()
  return [...open.values()].filter((stack) => stack.startsWith('Error: Timeout'))
}

/** Resolves once something is open that was opened where `place` says. */
export async function untilOpen(place: RegExp): Promise<void> {
  while (![...open.values()].some((stack) => place.test(stack))) await look()
}

/** Returns what is left after some looks, or nothing as soon as nothing is. */
export async function leftBehind(looks: number): Promise<LeftBehind> {
  for (let looked = 1; ; looked++) {
    const resources = process.getActiveResourcesInfo()
    const left = {
      open: [...open.values()],
      listeners: listeners().filter((one) => !before.listeners.includes(one)),
      resources: resources.length > before.resources ? resources : [],
      rejections,
    }
    const counted = left.open.length + left.listeners.length + left.resources.length
    if (counted === 0 || looked === looks) return left
    await look()
  }
}

/** Waits until the next look. */
function look(): Promise<void> {
  own = true
  const waited = delay(LOOK_MS)
  own = false
  return waited
}
