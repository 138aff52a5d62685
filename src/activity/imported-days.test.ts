import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transaction } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { UTC } from '../support/calendar.js'
import { readTop } from './history.js'
import { hasImported, importDays, removeImport } from './imported-days.js'
import { readValueHistory } from './value-history.js'

const DAY = 20_000

const imported = (days: readonly number[], pages: ReadonlyMap<string, number>) => ({
  name: 'a',
  id: 'old',
  days: new Map(
    days.map((day, index) => {
      const views = [...pages.values()].reduce((sum, n) => sum + n, 0)
      return [day, { line: index + 2, views, visitors: null, pages: new Map(pages) }]
    }),
  ),
  calendar: UTC,
  today: DAY + 9,
})

test('days are counted once, though each transaction is rolled back and run again', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  const conflict = new Error('a lock is in the way')
  const twice = async <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => {
    const first = database.transaction(async (tx) => {
      await work(tx)
      throw conflict
    })
    await assert.rejects(first, conflict)
    return database.transaction(work)
  }
  const file = imported([DAY, DAY + 1, DAY + 2], new Map([['/', 1]]))
  assert.equal(await importDays(twice, file), 3)
  assert.equal(await importDays(twice, file), 0, 'they are there')
  assert.equal(await removeImport(twice, 'a', 'old'), 3)
  assert.equal(await removeImport(twice, 'a', 'old'), 0)
  await database.close()
})

test('of pages with equal views those are listed that come first, whatever the file', async () => {
  const names = Array.from({ length: 1_001 }, (_, index) => `/${String(index).padStart(4, '0')}`)
  for (const order of [names, names.toReversed()]) {
    const database = sqlite(':memory:')
    await database.migrate()
    const pages = new Map(order.map((page) => [page, 2]))
    await importDays((work) => database.transaction(work), imported([DAY], pages))
    const range = { from: DAY * 24, to: (DAY + 1) * 24 }
    const top = await readTop(database, 'a', 'page', range, { n: 1_001 })
    const listed = top.map(({ value }) => value)
    assert.deepEqual([...listed].sort(), ['(other)', ...names.slice(0, 1_000)])
    await database.close()
  }
})

test('an imported day has pages, and nothing is known of other dimensions', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  await importDays((work) => database.transaction(work), imported([DAY], new Map([['/', 7]])))
  for (const [dimension, value, pageViews] of [
    ['page', '/', 7],
    ['page', '/b', 0],
    ['device', 'phone', null],
  ] as const) {
    const range = { from: DAY, to: DAY + 1 }
    const [day] = await readValueHistory(database, 'a', 'day', range, { dimension, value })
    assert.deepEqual([day?.pageViews, day?.imported], [pageViews, true], `${dimension} ${value}`)
  }
  await database.close()
})

test('a range has imported days from its first one up to its end, without it', async () => {
  const database = sqlite(':memory:')
  await database.migrate()
  await importDays(
    (work) => database.transaction(work),
    imported([DAY, DAY + 1], new Map([['/', 1]])),
  )
  const has = (from: number, to: number) => hasImported(database, 'a', { from, to })
  assert.deepEqual(
    [await has(DAY - 3, DAY), await has(DAY - 3, DAY + 1), await has(DAY + 1, DAY + 9)],
    [false, true, true],
  )
  assert.equal(await has(DAY + 2, DAY + 9), false)
  await database.close()
})
