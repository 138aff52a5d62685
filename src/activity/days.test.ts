import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../test/fast-check.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { calendarOf, timeZoneOption } from '../support/time-zone.js'
import { openBooks } from './books.js'
import { enterDays, firstHoursIn } from './days.js'

/** All have 24 hours there. */
const calendar = calendarOf(timeZoneOption('Asia/Tokyo'))
const FIRST = 20_000
const day = fc.integer({ min: FIRST, max: FIRST + 30 })

test('first hours of days that follow each other are one run, whatever came first', async () => {
  const database = sqlite(':memory:')
  try {
    await database.migrate()
    let names = 0
    await fc.assert(
      fc.asyncProperty(fc.array(day, { minLength: 1 }), async (days) => {
        const name = `n${names++}`
        await database.transaction((tx) => openBooks(tx, name))
        const text = async (): Promise<string> => {
          const { rows } = await database.query(
            'SELECT first_hours FROM activity_books WHERE name = ?',
            [name],
          )
          return String(rows[0]!['first_hours'])
        }
        for (const one of days) {
          const firstHours = firstHoursIn(await text())
          const books = { openDay: FIRST, firstHours, calendar }
          await database.transaction((tx) => enterDays(tx, name, books, [one]))
        }
        const wanted = new Map(
          days.flatMap((one) => [one, one + 1]).map((one) => [one, calendar.firstHour(one)]),
        )
        assert.deepEqual(firstHoursIn(await text()), new Map([...wanted].sort(([a], [b]) => a - b)))
        const runs = [...wanted.keys()].filter((one) => !wanted.has(one - 1)).length
        assert.equal((await text()).split(' ').length, runs)
      }),
      { numRuns: 50 },
    )
  } finally {
    await database.close()
  }
})
