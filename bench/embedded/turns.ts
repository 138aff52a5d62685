/**
 * Durations of the turns of this process's event loop while something is under way: a request may
 * have to wait that long. The kernel says for how much of a turn the thread had the processor, and
 * for how much it waited for one, which is the time of other programs.
 */
import { openSync, readSync } from 'node:fs'

const BEAT_MS = 1

/**
 * ms: `held` by the clock, `own` without the time in which the thread waited for a processor, `cpu`
 * on the processor alone.
 */
export type Longest = Readonly<Record<'held' | 'own' | 'cpu', number>>

const room = Buffer.alloc(64)
const schedstat = openSync('/proc/thread-self/schedstat', 'r')

/** Times of the thread, in ms. */
function scheduled() {
  const length = readSync(schedstat, room, 0, room.length, 0)
  const [cpu, waited] = room.toString('latin1', 0, length).split(' ')
  return { cpu: Number(cpu) / 1e6, waited: Number(waited) / 1e6 }
}

/** The longest turns while `work` is done, and what it resolves with. */
export async function turnsOf<T>(work: () => Promise<T>): Promise<{ result: T; longest: Longest }> {
  const longest = { held: 0, own: 0, cpu: 0 }
  let at = performance.now()
  let before = scheduled()
  const look = (): void => {
    const [now, after] = [performance.now(), scheduled()]
    const held = now - at - BEAT_MS
    longest.held = Math.max(longest.held, held)
    longest.own = Math.max(longest.own, held - (after.waited - before.waited))
    longest.cpu = Math.max(longest.cpu, after.cpu - before.cpu)
    at = now
    before = after
  }
  const beat = setInterval(look, BEAT_MS)
  try {
    return { result: await work(), longest }
  } finally {
    // A turn that is not over yet is one, too.
    look()
    clearInterval(beat)
  }
}
