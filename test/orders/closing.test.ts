import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeDays } from '../../src/activity/day-closing.js'
import { readHistory } from '../../src/activity/history.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import { explore } from '../simulated-world/explorer.js'
import { assertBooks, CLOSING, close, commit, DAY, NAME, START, BOUNDS, visit } from './activity.js'

const DAYS = { from: DAY, to: DAY + 2 }

test('a day that two collectors close is closed once, and certified once', async () => {
  await explore(async (orders) => {
    const [one, two] = [orders.actor('one'), orders.actor('two')]
    await orders.alone(() => commit(one, [visit(START, 1), visit(START + DAY_MS, 2)]))
    const certified: string[] = []
    const closing = (actor: typeof one) => async () =>
      certified.push(
        ...(await close(actor)).map(({ day, balanced, pageViews }) =>
          [day, balanced, pageViews].join(' '),
        ),
      )
    await orders.together({ one: closing(one), two: closing(two) })
    const day = new Date(START).toISOString().slice(0, 10)
    assert.deepEqual(certified, [`${day} true 1`])
    assertBooks(orders, 2)
  }, BOUNDS)
})

test('a visit committed while its day is closed counts in it, or late in the next', async () => {
  const found = new Set<string>()
  await explore(async (orders) => {
    const [writer, collector] = [orders.actor('writer'), orders.actor('collector')]
    await orders.alone(() => commit(writer, [visit(START, 1)]))
    await orders.together({
      writer: () => commit(writer, [visit(START, 2, '/late')]),
      collector: () => close(collector),
    })
    assertBooks(orders, 2)
    const before = await orders.alone(() => readHistory(writer.database, NAME, 'day', DAYS))
    await orders.alone(() => commit(writer, [visit(START, 3)]))
    await orders.alone(() => close(collector, CLOSING + DAY_MS))
    const after = await orders.alone(() => readHistory(writer.database, NAME, 'day', DAYS))
    assert.deepEqual(after[0], before[0], 'a closed day never changes')
    assertBooks(orders, 3)
    const [hour] = orders.look('SELECT SUM(late) AS late FROM activity_hours')
    found.add(`${before.map(({ pageViews }) => pageViews).join()} late ${hour?.['late']}`)
  }, BOUNDS)
  assert.deepEqual(found, new Set(['2,0 late 1', '1,1 late 2']))
})

test('a visit of an older day, committed while a day is closed, closes with its own', async () => {
  await explore(async (orders) => {
    const [writer, collector] = [orders.actor('writer'), orders.actor('collector')]
    await orders.alone(() => commit(writer, [visit(START + DAY_MS, 1)]))
    await orders.together({
      writer: () => commit(writer, [visit(START, 2)]),
      collector: () => close(collector, CLOSING + DAY_MS),
    })
    await orders.alone(() => close(collector, CLOSING + DAY_MS))
    assertBooks(orders, 2)
  }, BOUNDS)
})

test('two first visits at once begin the books once, with nothing before them', async () => {
  await explore(async (orders) => {
    const [one, two] = [orders.actor('one'), orders.actor('two')]
    await orders.together({
      one: () => commit(one, [visit(START, 1)]),
      two: () => commit(two, [visit(START, 2)]),
    })
    assertBooks(orders, 2)
    assert.deepEqual(orders.look('SELECT uncounted FROM activity_books'), [{ uncounted: 0 }])
  }, BOUNDS)
})

test('a visitor of two commits has the newest second and the hours of both', async () => {
  await explore(async (orders) => {
    const [one, two] = [orders.actor('one'), orders.actor('two')]
    await orders.together({
      one: () => commit(one, [visit(START + 5 * HOUR_MS, 1)]),
      two: () => commit(two, [visit(START + HOUR_MS, 1)]),
    })
    const second = (START + 5 * HOUR_MS) / 1000
    assert.deepEqual(orders.look('SELECT last_second, last_slice, hours FROM activity_visitors'), [
      { last_second: second, last_slice: second / 300, hours: (1 << 1) | (1 << 5) },
    ])
    await orders.alone(() => close(one))
    assertBooks(orders, 2)
  }, BOUNDS)
})

test('a certificate is heard of when its day has been closed, and once', async () => {
  const heard = new Set<string>()
  await explore(
    async (orders) => {
      const collector = orders.actor('collector')
      await orders.alone(() => commit(collector, [visit(START, 1)]))
      const certified: number[] = []
      const closes = async (): Promise<void> => {
        const { database } = collector
        await closeDays(database, NAME, CLOSING, 3_600, () => {
          certified.push(Number(orders.look('SELECT open_day FROM activity_books')[0]!['open_day']))
        })
      }
      await orders.together({ collector: () => closes().catch(() => undefined) })
      const isCommitted = orders.trace.some((step) => /: COMMIT(, done, but failed)?$/.test(step))
      const isAnswered = orders.trace.some((step) => step.endsWith(': COMMIT'))
      assert.deepEqual(certified, isAnswered ? [DAY + 1] : [], 'in the first run')
      await orders.alone(closes)
      assert.equal(certified.length, Number(isAnswered || !isCommitted))
      assertBooks(orders, 1)
      heard.add(`committed ${isCommitted}, answered ${isAnswered}`)
    },
    { ...BOUNDS, preemptions: 0, failures: 1 },
  )
  assert.equal(heard.size, 3)
})

test('an hour whose visitors are not known any more is closed with none', async () => {
  await explore(async (orders) => {
    const collector = orders.actor('collector')
    await orders.alone(() => commit(collector, [visit(START, 1), visit(START + HOUR_MS, 2)]))
    orders.look('DELETE FROM activity_visitors WHERE hours = 2')
    await orders.together({ collector: () => close(collector) })
    assert.deepEqual(orders.look('SELECT visitors FROM activity_hours ORDER BY hour'), [
      { visitors: 1 },
      { visitors: 0 },
    ])
  }, BOUNDS)
})
