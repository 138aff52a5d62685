import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wrapped } from '../../test/servers/wrapped.js'
import { createActivity } from '../activity/site-activity.js'
import { memory } from '../cache/memory.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { BurstLogger, SILENT } from '../support/logger.js'
import { OwnCalendar } from './own-calendar.js'

test('SQL is asked for the zone until it has one, and never about a wrong argument', async () => {
  const database = sqlite(':memory:')
  let asked = 0
  const counting = wrapped(database, {
    query: (...given) => (asked++, database.query(...given)),
  })
  const calendar = new OwnCalendar({
    database: counting,
    gridName: 'site',
    timeZone: undefined,
    logger: new BurstLogger(SILENT, () => 0),
  })
  const site = createActivity({
    name: 'site',
    cache: memory(),
    database,
    collect: false,
    timeZone: 'Asia/Kolkata',
    logger: SILENT,
  })
  const isRefused = () => {
    const wrong = new RangeError('wrong')
    return assert.rejects(
      calendar.checked(() => {
        throw wrong
      }),
      wrong,
    )
  }
  await site.migrate()
  await isRefused()
  assert.equal(asked, 0)
  for (const times of [1, 2]) {
    assert.equal((await calendar.read()).zone, 'UTC')
    assert.equal(asked, times)
  }
  site.record({ page: '/' })
  await site.flush()
  await site.drain({ all: true })
  for (let again = 0; again < 2; again++) {
    assert.equal(await calendar.checked(({ zone }) => zone), 'Asia/Calcutta')
    await isRefused()
    assert.equal(asked, 3)
  }
  await site.close()
  await database.close()
})
