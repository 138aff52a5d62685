/**
 * A process of a site that counts hits. With `hits` it records so many, of viewers that other
 * processes have too, and says at the end which, with the windows that they were in; without, it
 * collects, each second.
 */
import { ItemHits } from '../../src/hits/item-hits.js'
import { type HitsOptions, hitsSettings } from '../../src/hits/options.js'
import { systemEnvironment } from '../../src/support/environment.js'

export interface Assignment extends HitsOptions {
  hits: number
}

/** A hit that has been recorded. */
export type Recorded = [item: string, viewer: string | null, window: number]

const TICK_MS = 10
/** Duration of recording, if nothing is in the way. */
const SECONDS = 6
const ITEMS = 20
const VIEWERS = 60

const { hits: count, ...options }: Assignment = JSON.parse(process.env['ASSIGNMENT'] ?? '')
let time = 0
const { clock } = systemEnvironment
const hits = new ItemHits(hitsSettings(options), {
  ...systemEnvironment,
  clock: { ...clock, now: () => (time = Math.floor(clock.now())) },
})
const recorded: Recorded[] = []

function record(item: string, viewer: string | null): void {
  hits.record(item, { viewer })
  recorded.push([item, viewer, Math.floor(time / 1000 / (options.repeatSeconds ?? NaN))])
}

let timer: NodeJS.Timeout
if (count > 0) {
  // Once this is in the cache, the day's salt is known.
  record('first', 'anybody')
  await hits.flush()
  const aTick = Math.ceil(count / ((SECONDS * 1000) / TICK_MS))
  timer = setInterval(() => {
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
  timer = setInterval(() => undefined, 60_000)
}
process.send?.({ ready: true })

process.once('SIGTERM', async () => {
  clearInterval(timer)
  await hits.close()
  process.send?.({ recorded }, () => process.disconnect?.())
})
