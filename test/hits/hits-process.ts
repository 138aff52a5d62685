/**
 * A process of a site that counts hits. With `hits` it records so many, of viewers that other
 * processes have too, and says at the end which, with the windows that they were in; without, it
 * collects, each second.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { ItemHits } from '../../src/hits/item-hits.js'
import { type HitsOptions, hitsSettings } from '../../src/hits/options.js'

export interface Assignment extends HitsOptions {
  hits: number
}

/** A hit that has been recorded. */
export type Recorded = [item: string, viewer: string | null, window: number]

const TICK_MS = 10
const BORDER_MS = 1_000
/** Duration of recording, if nothing is in the way. */
const SECONDS = 6
const ITEMS = 20
const VIEWERS = 60

const { hits: count, ...options }: Assignment = JSON.parse(process.env['ASSIGNMENT'] ?? '')
const hits = new ItemHits(hitsSettings(options))
const recorded: Recorded[] = []
const windowMs = 1000 * (options.repeatSeconds ?? NaN)

function record(item: string, viewer: string | null): void {
  hits.record(item, { viewer })
  recorded.push([item, viewer, Math.floor(Date.now() / windowMs)])
}

/**
 * Whether a window begins or ends about now: hits have the database's time, which a process knows
 * as well as its questions are answered soon.
 */
function isNearBorder(): boolean {
  const within = Date.now() % windowMs
  return Math.min(within, windowMs - within) < BORDER_MS
}

// What is done with recording waits for SIGTERM.
const alive = setInterval(() => undefined, 60_000)
let timer: NodeJS.Timeout | undefined
if (count > 0) {
  // Once this is in the cache, the day's salt is known.
  while (isNearBorder()) await delay(TICK_MS)
  record('first', 'anybody')
  await hits.flush()
  const near = (2 * BORDER_MS) / windowMs
  const aTick = Math.ceil(count / ((SECONDS * 1000 * (1 - near)) / TICK_MS))
  timer = setInterval(() => {
    if (isNearBorder()) return
    for (let i = 0; i < aTick && recorded.length < count; i++) {
      record(
        `item ${Math.floor(Math.random() * ITEMS)}`,
        Math.random() < 0.1 ? null : `viewer ${Math.floor(Math.random() * VIEWERS)}`,
      )
    }
    if (recorded.length < count) return
    clearInterval(timer)
    process.send?.({ done: true })
  }, TICK_MS)
} else {
  await hits.migrate()
}
process.send?.({ ready: true })

process.once('SIGTERM', async () => {
  clearInterval(alive)
  clearInterval(timer)
  await hits.close()
  process.send?.({ recorded }, () => process.disconnect?.())
})
