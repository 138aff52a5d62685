import { v7 } from 'uuid'
import { type Clock, systemClock } from './clock.js'

/**
 * Everything that the protocol uses beside cache and database, passed in so that a simulation can
 * control it.
 */
export interface Environment {
  /** Time. */
  readonly clock: Clock
  /** A random number, 0 <= n < 1. */
  random(): number
  /** A new id of 16 bytes, unlike any other. Ids grow with time: a UUID of version 7. */
  newId(): Buffer
  /**
   * Milliseconds for which the event loop has been busy since the start. Not given: not known.
   */
  busyMs?(): number
  /**
   * Keeps the process alive until the returned function is called: the clock's timers alone do not.
   * Not given: there is no process to keep alive.
   */
  keepAlive?(): () => void
  /**
   * Has `work` called whenever nothing keeps the process alive any more, before it ends. What
   * `work` begins is waited for. The returned function takes it back. Not given: there is no
   * process to end.
   */
  beforeEnd?(work: () => void): () => void
}

/** Runs `work`, and keeps the process alive until it has ended. */
export async function keptAlive<T>(environment: Environment, work: () => Promise<T>): Promise<T> {
  const letEnd = environment.keepAlive?.()
  try {
    return await work()
  } finally {
    letEnd?.()
  }
}

const ID_BYTES = 16

/** Work of {@link Environment.beforeEnd}. One listener calls all: Node warns of more than ten. */
const beforeEnd = new Set<() => void>()
const end = (): void => {
  for (const work of beforeEnd) work()
}

/** The machine's own clock and random numbers. */
export const systemEnvironment: Environment = {
  clock: systemClock,
  random: Math.random,
  newId: () => v7(undefined, Buffer.allocUnsafe(ID_BYTES)),
  // Bun has none.
  busyMs: () => performance.eventLoopUtilization?.().active ?? 0,
  keepAlive() {
    const handle = setInterval(() => undefined, 60_000)
    return () => clearInterval(handle)
  },
  beforeEnd(work) {
    if (beforeEnd.size === 0) process.on('beforeExit', end)
    beforeEnd.add(work)
    return () => {
      beforeEnd.delete(work)
      if (beforeEnd.size === 0) process.off('beforeExit', end)
    }
  },
}
