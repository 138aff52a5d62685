import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../database/open.js'
import { UTC } from '../support/calendar.js'
import { dayText } from '../support/calendar-days.js'
import { DAY_MS } from '../support/clock.js'
import { openBooks } from './books.js'
import { commitVisits } from './commit.js'
import { closeDays } from './day-closing.js'
import { readFirstDay, readMissing } from './first-day.js'
import { importDays } from './imported-days.js'

const DAY = 20_000

test('a period is without views from the first day on, and not known before', async () => {
  const { database } = openDatabase('sqlite::memory:')
  await database.migrate()
  const viewed = (name: string, day: number) =>
    database.transaction((tx) => {
      const visits = [{ time: day * DAY_MS, visitor: null, page: '/' }]
      return commitVisits(visits, tx, { now: (DAY + 9) * DAY_MS, name } as never)
    })
  const missing = async () => {
    const read = await readMissing(database, ['a', 'b'])
    return ['a', 'b'].map((name) => [DAY - 1, DAY, DAY + 1].map((day) => read(name, day)))
  }
  const unknown = [null, null, null]
  try {
    assert.equal(await readFirstDay(database, 'a'), null)
    assert.deepEqual(await missing(), [unknown, unknown])
    await database.transaction((tx) => openBooks(tx, 'a'))
    // Days without a visit close, too.
    await closeDays(database, 'a', (DAY - 5) * DAY_MS, 0, () => undefined)
    assert.equal(await readFirstDay(database, 'a'), null, 'books alone are no figures')
    assert.deepEqual(await missing(), [unknown, unknown])
    await viewed('a', DAY)
    await viewed('b', DAY + 1)
    assert.equal(await readFirstDay(database, 'a'), dayText(DAY))
    assert.deepEqual(await missing(), [
      [null, 0, 0],
      [null, null, 0],
    ])
    // What is removed by age stays the first day.
    await closeDays(database, 'a', (DAY + 5) * DAY_MS, 0, () => undefined)
    await database.query('DELETE FROM activity_hours')
    assert.equal(await readFirstDay(database, 'a'), dayText(DAY))
    assert.deepEqual((await missing())[0], [null, 0, 0])
    const days = new Map([[DAY - 3, { line: 2, views: 1, visitors: null, pages: new Map() }]])
    const file = { name: 'a', id: 'old', days, calendar: UTC, today: DAY + 9 }
    await importDays((work) => database.transaction(work), file)
    assert.equal(await readFirstDay(database, 'a'), dayText(DAY - 3))
    assert.deepEqual((await missing())[0], [null, 0, 0], 'days between are not known')
  } finally {
    await database.close()
  }
})
