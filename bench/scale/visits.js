// Visits at a stated rate, as a busy site has them: every page another one, so that what is lost
// and what came twice can be told apart, and some hundred visitors.
import { setTimeout as delay } from 'node:timers/promises'

/** How often visits that are due are made: a few at a time, as requests come. */
const TICK_MS = 10
const VISITORS = 500

/** Calls `take(visit)` `rate` times a second, and returns how many there were. */
export async function generate({ rate, seconds, writer }, take) {
  const began = performance.now()
  let made = 0
  for (;;) {
    const elapsed = Math.min(seconds, (performance.now() - began) / 1000)
    for (const due = Math.floor(elapsed * rate); made < due; made++) {
      const visitor = `192.0.2.${made % VISITORS} Mozilla/5.0 (X11; Linux x86_64)`
      take({ visitor, page: pageOf(writer, made) }, made)
    }
    if (elapsed === seconds) return made
    await delay(TICK_MS)
  }
}

/** All of one length, so that a row is, too: 27 bytes. */
function pageOf(writer, made) {
  return `/forum/threads/${String(writer).padStart(2, '0')}-${String(made).padStart(9, '0')}`
}
