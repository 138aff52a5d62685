/** A figure is of one moment, whatever is committed, closed or removed while it is read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchBalance } from '../../src/activity/balance.js'
import { readCertificate } from '../../src/activity/certificate.js'
import { readHistory, readTop } from '../../src/activity/history.js'
import type { Period } from '../../src/support/calendar.js'
import { recountRows } from '../../src/activity/hour-recount.js'
import { recounted } from '../../src/activity/recounted.fixture.js'
import { Recounts } from '../../src/activity/recount.js'
import { removeValue } from '../../src/activity/remove-value.js'
import { removeOldVisits } from '../../src/activity/retention.js'
import { readStats } from '../../src/activity/stats.js'
import { enterName } from '../../src/wide-cache/ledger/name-settings.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { BurstLogger } from '../../src/support/logger.js'
import { explore, type Ports } from '../simulated-world/explorer.js'
import { assertBooks, BOUNDS, close, commit, DAY, NAME, START, visit } from './activity.js'

const NOON = START + 12 * HOUR_MS

/** All figures that are read of {@link DAY}, as texts: `views,visitors`. */
const FIGURES: Readonly<Record<string, (ports: Ports) => Promise<string>>> = {
  ...Object.fromEntries(
    (['hour', 'day'] as Period[]).map((by) => [
      `history by the ${by}`,
      async ({ database }: Ports) => {
        const range =
          by === 'day' ? { from: DAY, to: DAY + 1 } : { from: DAY * 24, to: DAY * 24 + 24 }
        const periods = await readHistory(database, NAME, by, range)
        const sum = (of: 'pageViews' | 'visitors') =>
          periods.reduce((n, one) => n + (one[of] ?? 0), 0)
        return `${sum('pageViews')},${sum('visitors')}`
      },
    ]),
  ),
  top: async ({ database }) => {
    const range = { from: DAY * 24, to: DAY * 24 + 24 }
    const values = await readTop(database, NAME, 'page', range, { n: 10 })
    const views = values.map(({ value, pageViews }) => `${value}:${pageViews}`)
    return views.length === 1 && views[0]!.startsWith('/:')
      ? `${views[0]!.slice(2)},${views[0]!.slice(2)}`
      : views.join()
  },
  stats: async ({ database }) => {
    const context = { name: NAME, asOf: NOON, stale: false }
    const { pageViews, visitors, lower, upper } = await readStats(database, context, 86_400)
    assert.deepEqual([lower, upper], [pageViews, pageViews], 'nothing is missing')
    return `${pageViews},${visitors}`
  },
  certificate: async ({ database }) => {
    const { pageViews, visitors, findings, closed, ledger, allPageViews } = await readCertificate(
      database,
      NAME,
      DAY,
      0,
    )
    assert.deepEqual(findings, [])
    assert(ledger && ledger.committed === allPageViews, 'it is certified, by its own moment')
    if (!closed) assert.equal(allPageViews, pageViews)
    return `${pageViews},${visitors}`
  },
}

for (const [what, read] of Object.entries(FIGURES)) {
  test(`${what}: views and visitors are of one moment, while days close`, async () => {
    const seen = new Set<string>()
    await explore(async (orders) => {
      const [writer, reader] = [orders.actor('writer'), orders.actor('reader')]
      await orders.alone(() => commit(writer, [visit(START, 1)]))
      await orders.together({
        writer: async () => {
          await commit(writer, [visit(START + HOUR_MS, 2)])
          await close(writer)
        },
        reader: async () => seen.add(await read(reader)),
      })
      assertBooks(orders, 2)
      assert.equal(await orders.alone(() => read(reader)), '2,2')
    }, BOUNDS)
    assert.deepEqual(seen, new Set(['1,1', '2,2']))
  })
}

test('a collector that looks at the books while visits are committed finds nothing', async () => {
  await explore(async (orders) => {
    const [writer, collector] = [orders.actor('writer'), orders.actor('collector')]
    const log = keptLog()
    await orders.alone(() => commit(writer, [visit(START, 1)]))
    await orders.together({
      writer: () => commit(writer, [visit(START, 2), visit(START + 1_000, 3)]),
      collector: async () => {
        await watchBalance(collector.database, NAME, new BurstLogger(log, () => 0))
        const { unequal } = await recountRows(collector.database, NAME, START, START + 2_000)
        assert.equal(unequal, 0)
        // What changes meanwhile is left out.
        assert.equal((await recounted(collector.database, NAME, DAY * 24)) ?? '', '')
      },
    })
    assert.deepEqual(log.lines, [])
  }, BOUNDS)
})

test('nothing is found of an hour and its day while values, rows and visitors go', async () => {
  await explore(async (orders) => {
    const [remover, reader] = [orders.actor('remover'), orders.actor('reader')]
    await orders.alone(() => commit(remover, [visit(START, 1, '/secret'), visit(START, 2)]))
    await orders.alone(() => close(remover))
    const now = START + 3 * DAY_MS
    await orders.together({
      remover: async () => {
        await removeValue(remover.database, NAME, 'page', '/secret')
        const kept = { rowsMs: 0, valuesDays: 0, vanishedSeconds: 9 * 86_400 }
        await removeOldVisits(remover.database, { now, name: NAME }, kept)
      },
      reader: async () => {
        const found = await recounted(reader.database, NAME, DAY * 24)
        assert.equal(found ?? '', '')
        assert.deepEqual((await readCertificate(reader.database, NAME, DAY, now)).findings, [])
      },
    })
    const { findings } = await orders.alone(() => readCertificate(reader.database, NAME, DAY, now))
    assert.deepEqual(findings, [])
  }, BOUNDS)
})

test('a difference in the books is logged once, by one of two collectors', async () => {
  await explore(async (orders) => {
    const [one, two] = [orders.actor('one'), orders.actor('two')]
    const log = keptLog()
    await orders.alone(() => commit(one, [visit(START, 1)]))
    orders.look('UPDATE activity_hours SET views = 7')
    const look = ({ database }: Ports) =>
      watchBalance(database, NAME, new BurstLogger(log, () => 0))
    await orders.together({ one: () => look(one), two: () => look(two) })
    assert.equal(log.lines.length, 1, log.lines.join('\n'))
    orders.look('UPDATE activity_hours SET views = 1')
    await orders.together({ one: () => look(one), two: () => look(two) })
    assert.match(log.lines.slice(1).join('\n'), /^[^\n]* balance again$/)
  }, BOUNDS)
})

test('an hour whose rows differ is logged once, by one of two collectors', async () => {
  await explore(async (orders) => {
    const [one, two] = [orders.actor('one'), orders.actor('two')]
    const log = keptLog()
    await orders.alone(() => commit(one, [visit(START, 1)]))
    orders.look('DELETE FROM activities')
    const run = ({ database }: Ports) =>
      new Recounts({ name: NAME, logger: new BurstLogger(log, () => 0) }).run(database, NOON)
    await orders.together({ one: () => run(one), two: () => run(two) })
    assert.equal(log.lines.length, 1, log.lines.join('\n'))
    const [found] = orders.look('SELECT recounted FROM activity_hours')
    assert.match(String(found?.['recounted']), /^0 rows, and sums of 1 page view, /)
  }, BOUNDS)
})

test('visits committed while keep changes have rows or count as sums alone', async () => {
  const kept = new Set<unknown>()
  await explore(async (orders) => {
    const [writer, other] = [orders.actor('writer'), orders.actor('other')]
    const own = (keep: 'rows' | 'sums') => ({
      name: NAME,
      kind: 'activity',
      cellTtlSeconds: 3_600,
      directSeconds: 75,
      vanishedSeconds: 3_600,
      nameSettings: { keep: { value: keep, counts: 'last' as const } },
    })
    await orders.alone(() => enterName(other.database, own('rows')))
    await orders.together({
      writer: () => commit(writer, [visit(START, 1), visit(START, 2)]),
      other: () => enterName(other.database, own('sums')),
    })
    assertBooks(orders, 2)
    kept.add(orders.look('SELECT COUNT(*) AS n FROM activities')[0]?.['n'])
    await orders.alone(() => commit(writer, [visit(START, 3)]))
    assertBooks(orders, 3)
  }, BOUNDS)
  assert.deepEqual(kept, new Set([2, 0]))
})
