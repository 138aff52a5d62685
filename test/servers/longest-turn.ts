/**
 * Measures for how long one turn of the event loop keeps the others waiting. In CPU time, because
 * on a busy machine the wall clock also measures the neighbours.
 */
import { existsSync, openSync, readSync } from 'node:fs'

export interface LongestTurn {
  /** The longest turn since the last call, in milliseconds of CPU time. */
  take(): number
  stop(): void
}

const LOOK_EVERY_MS = 5
const SCHEDSTAT = '/proc/thread-self/schedstat'

/**
 * CPU time so far, in milliseconds. Linux tells that of this thread. Elsewhere it is that of the
 * whole process, whose other threads compile and collect garbage.
 */
export const cpuMs = existsSync(SCHEDSTAT) ? ofThread() : ofProcess

function ofThread(): () => number {
  const schedstat = openSync(SCHEDSTAT, 'r')
  const room = Buffer.alloc(64)
  return () => {
    const length = readSync(schedstat, room, 0, room.length, 0)
    return Number.parseInt(room.toString('latin1', 0, length), 10) / 1e6
  }
}

function ofProcess(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

export function watchTurns(): LongestTurn {
  let longest = 0
  let last = cpuMs()
  const look = (): void => {
    const now = cpuMs()
    longest = Math.max(longest, now - last)
    last = now
  }
  const timer = setInterval(look, LOOK_EVERY_MS)
  return {
    take() {
      look()
      const taken = longest
      longest = 0
      return taken
    },
    stop: () => clearInterval(timer),
  }
}
