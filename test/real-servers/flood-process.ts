/**
 * Records the page views of a normal site, and beside them a flood: pages that nobody has viewed
 * before. Ends with its account of what it has recorded.
 */
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { createActivity } from '../../src/index.js'
import { SILENT } from '../../src/support/logger.js'
import { type FloodOptions, GRID, type Recorded } from './flood.js'

const { database, cache, name, seconds, newPages, views } = JSON.parse(
  process.argv[2]!,
) as FloodOptions

const STEP_MS = 20
/** Pages of the normal site. */
const PAGES = 300
const VISITORS = 5_000
/** From here on one more page is viewed, with each step. */
const POPULAR_FROM = 0.6

const activity = createActivity({ ...GRID, name, database, cache, collect: false, logger: SILENT })
await activity.migrate()
const recorded: Recorded = { all: 0, normal: {}, popular: 0 }

/** Records one view, with a visitor and a referrer as the middleware would. */
function view(page: string): void {
  activity.record({ page, visitor: `visitor ${recorded.all++ % VISITORS}` })
}

function normal(): void {
  const page = `/threads/${(recorded.all * 7919) % PAGES}`
  recorded.normal[page] = (recorded.normal[page] ?? 0) + 1
  view(page)
}

// The site is there before the flood begins.
for (let page = 0; page < 3 * PAGES; page++) normal()
await activity.flush()

const began = performance.now()
let [flood, beside] = [0, 0]
for (let passed = 0; passed < 1;) {
  await delay(STEP_MS)
  passed = Math.min(1, (performance.now() - began) / (1000 * seconds))
  for (; flood < passed * seconds * newPages; flood++) view(`/flood/${flood.toString(36)}`)
  for (; beside < passed * seconds * views; beside++) normal()
  if (passed > POPULAR_FROM) {
    recorded.popular++
    view('/popular')
  }
}
assert.equal((await activity.close()).lost, 0)
process.send!(recorded, () => process.disconnect())
