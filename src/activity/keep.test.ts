/** Sites that keep sums alone, through the public entry points. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../support/clock.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger, SILENT } from '../support/logger.js'
import { inWindow, SHORT_LAYERS } from './in-window.fixture.js'
import { createActivity } from './site-activity.js'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { activitySettings, type ActivityOptions } from './options.js'
import { VisitRetention } from './visit-retention.js'

const DAY_MS = 86_400_000
test('with keep: "sums" all figures are there, and no visit is stored', async () => {
  const database = sqlite(':memory:')
  const rowsIn = async (): Promise<number> =>
    Number((await database.query('SELECT COUNT(*) AS n FROM activities')).rows[0]?.['n'])
  /** Has a process of these options count three visits of two visitors. */
  const visited = async (options: ActivityOptions) => {
    const activity = createActivity({
      cache: memory(),
      database,
      collect: false,
      logger: SILENT,
      ...SHORT_LAYERS,
      ...options,
    })
    for (const visitor of ['a', 'a', 'b']) activity.record({ visitor, page: '/page' })
    await inWindow(activity)
    return activity
  }
  const activity = await visited({ keep: 'sums' })
  assert.equal(await rowsIn(), 0)
  const [now, day] = [Date.now(), new Date().toISOString().slice(0, 10)]
  const range = { from: now - DAY_MS, to: now + 1 }
  const { pageViews, visitors } = await activity.stats()
  assert.deepEqual([pageViews, visitors], [3, 2])
  assert.deepEqual(await activity.top('page', { ...range, n: 5 }), [
    { value: '/page', pageViews: 3 },
  ])
  const history = await activity.history({ ...range, by: 'day' })
  assert.equal(
    history.reduce((sum, period) => sum + (period.pageViews ?? 0), 0),
    3,
  )
  assert.equal((await activity.ledger()).committed, 3)
  const { keep, hours, balanced, findings } = await activity.certificate(day)
  assert.deepEqual(
    { keep, hours, balanced, findings },
    {
      keep: 'sums',
      hours: null,
      balanced: true,
      findings: [],
    },
  )
  await activity.close()

  // Another process has not said: SQL knows.
  await (await visited({})).close()
  assert.equal(await rowsIn(), 0)
  // And back, from now on.
  const last = await visited({ keep: 'rows' })
  assert.equal(await rowsIn(), 3)
  assert.equal((await last.certificate(day)).keep, 'rows')
  assert.equal((await last.certificate(day)).pageViews, 9)
  await last.close()
  await database.close()
})

test('a process learns that another one has given another keep after it', async () => {
  const database = sqlite(':memory:')
  const options = { cache: memory(), database, collect: false, logger: SILENT } as const
  const last = createActivity({ ...options, keep: 'rows' })
  await last.migrate()
  for (const [keep, lines] of [
    [
      'sums',
      [
        'wide-cache: another process has given the option "keep" of "activity" as "rows" after ' +
          'this one, which has "sums"; the last one given counts, so give all processes the same',
      ],
    ],
    ['rows', []],
    [undefined, []],
  ] as const) {
    const log = keptLog()
    const retention = new VisitRetention({
      ...activitySettings({ ...options, keep }),
      clock: systemClock,
      logger: new BurstLogger(log, () => 0),
    })
    for (let i = 0; i < 2; i++) {
      await retention.removeOld(database, {
        name: 'activity',
        now: Date.now(),
        directSeconds: 75,
      } as never)
    }
    assert.deepEqual(log.lines, lines)
  }
  await last.close()
  await database.close()
})

test('keep takes rows and sums, and nothing else', () => {
  assert.throws(() => createActivity({ keep: 'none' as never }), /option "keep" is .*none/)
})
