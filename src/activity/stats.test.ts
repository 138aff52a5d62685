import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sqlite } from '../database/sqlite/sqlite.js'
import { table } from '../database/table.js'
import { commitVisits } from './commit.js'
import { readStats } from './stats.js'

const START = 1_800_000_000

/** Seconds of each visitor's visits: around the ends of slices of 300 s, and of windows. */
const VISITORS = (
  '0 140 150 199 200 299 300 301 599 600 899 ' +
  '140,200 139,200 140,199 0,150,899 150,151 299,300 0,899'
)
  .split(' ')
  .map((seconds) => seconds.split(',').map(Number))

/** Beginnings and ends of windows. */
const WINDOWS = [0, 139, 140, 150, 199, 200, 299, 300, 301, 600, 899, 900]

test('visitors of a window are those who came, whatever slices it begins and ends in', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const visits = VISITORS.flatMap((seconds, index) =>
    seconds.map((second) => ({
      time: (START + second) * 1_000,
      visitor: Buffer.alloc(12, index + 1),
      page: '/',
    })),
  )
  const now = (START + 1_000) * 1_000
  await database.transaction((tx) => commitVisits(visits, tx, { name: 'a', now }))
  for (const from of WINDOWS) {
    for (const end of WINDOWS) {
      if (from >= end) continue
      const isWithin = (second: number): boolean => second >= from && second < end
      const came = VISITORS.filter((seconds) => seconds.some(isWithin)).length
      // SQL has the first and the last second of a visitor.
      const unsure = VISITORS.filter((seconds) => seconds[0]! < from && seconds.at(-1)! >= end)
      const certain = came - unsure.filter((seconds) => seconds.some(isWithin)).length
      const asOf = (START + end) * 1_000
      const stats = await readStats(database, { name: 'a', asOf, stale: false }, end - from)
      assert.deepEqual(
        [stats.pageViews, stats.visitors, stats.visitorsUpper ?? stats.visitors],
        [VISITORS.flat().filter(isWithin).length, certain, certain + unsure.length],
        `from ${from} to ${end}`,
      )
    }
  }
  await database.close()
})

test('a missing row may be of a view of a visitor more', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const now = START * 1_000
  const visits = [{ time: now - 30_000, visitor: Buffer.alloc(12, 1), page: '/' }]
  await database.transaction((tx) => commitVisits(visits, tx, { name: 'a', now }))
  const key = ['name', 'writer'] as const
  const writers = table('wide_cache_writers', key, 'issued', 'committed', 'last_seen')
  await writers.insert(database, [['a', Buffer.alloc(16), 3, 1, now - 30_000]])
  const stats = await readStats(database, { name: 'a', asOf: now, stale: false }, 60)
  const { pageViews, lower, upper, visitors, visitorsUpper } = stats
  assert.deepEqual([pageViews, lower, upper], [1, 1, 3])
  assert.deepEqual([visitors, visitorsUpper], [1, 3])
  await database.close()
})
