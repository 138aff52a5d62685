/** Notes on days, in the files of the dashboard. Other databases are in `bots.test.ts`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import request from 'supertest'
import { sqlite } from '../database/sqlite/sqlite.js'
import { expresses } from '../support/http.fixture.js'
import { SILENT } from '../support/logger.js'
import { createActivity } from './site-activity.js'

const [[, express]] = expresses as [[string, (typeof expresses)[0][1]]]
const LOCAL = {
  cache: 'memory:',
  database: 'sqlite::memory:',
  logger: SILENT,
  collect: false,
} as const

test('a day has one note, in the files of the history, but not where they are shared', async () => {
  const database = sqlite(':memory:')
  // What no statement orders comes in another order.
  await database.query('PRAGMA reverse_unordered_selects = ON')
  const activity = createActivity({ ...LOCAL, database, timeZone: 'Asia/Tokyo' })
  const app = express()
  app.use('/shared', activity.dashboard({ shared: true }))
  app.use(activity.dashboard({ authorize: () => true }))
  const days = 'from=2026-05-16&to=2026-05-18'
  try {
    activity.record({ page: '/', at: Date.parse('2026-05-16T16:00:00Z') })
    await activity.flush()
    await activity.drain({ all: true })
    await activity.note('2026-05-17', 'Released 1.9\n')
    await activity.note('2026-05-17', ' Released "2.0" <b>\u{1f389}</b>, =1+1 ')
    await activity.note('2026-05-18', 'Later')
    await activity.note('2026-05-18', null)
    await activity.note('2026-05-19', 'Not in this range')
    await activity.note('2026-05-12', 'Before')
    const notesOf = async (path: string, range: string) => {
      const { body } = await request(app).get(`/${path}.json?${range}`).expect(200)
      return body.figures.map(({ note }: { note?: string }) => note)
    }
    const note = 'Released "2.0" <b>\u{1f389}</b>, =1+1'
    assert.deepEqual(await notesOf('shown', days), [undefined, note, undefined])
    assert.deepEqual(await notesOf('history', `${days}&by=day`), [undefined, note])
    const hours = await notesOf('shown', 'from=2026-05-17&to=2026-05-17')
    assert.deepEqual(hours, [note, ...Array(23).fill(undefined)])
    const weeks = await notesOf('shown', 'from=2026-05-04&to=2026-06-07')
    assert.deepEqual(weeks.slice(0, 3), [undefined, `Before · ${note}`, 'Not in this range'])
    const { text } = await request(app).get(`/shown.csv?${days}`).expect(200)
    const [head, , day] = text.split('\r\n')
    assert.equal(head, 'start,pageViews,visitors,bots,note,before')
    assert(day!.endsWith(',"Released ""2.0"" <b>\u{1f389}</b>, =1+1",'), day)
    const shared = await request(app).get(`/shared/shown.csv?${days}`).expect(200)
    assert.doesNotMatch(shared.text, /Released|note/)
    const figures = await request(app).get(`/shared/figures.json?${days}`).expect(200)
    assert.doesNotMatch(figures.text, /Released/)
    await activity.note('2026-05-17', null)
  } finally {
    await activity.close()
    await database.close()
  }
})

test('what is no day, or no note, is refused by name', async () => {
  const activity = createActivity(LOCAL)
  try {
    for (const [day, text, message] of [
      ['2026-02-30', 'x', /"day" is "2026-02-30"; allowed: a day such as "2026-05-17"/],
      ['1969-12-31', 'x', /"day" is "1969-12-31"/],
      [5, 'x', /"day" is 5/],
      [
        '2026-05-17',
        '',
        /"text" is ""; allowed: a text of 1 to 200 characters in one line, or null/,
      ],
      ['2026-05-17', '  ', /"text"/],
      ['2026-05-17', 'a\nb', /"text"/],
      ['2026-05-17', '\ud800', /"text"/],
      ['2026-05-17', 'x'.repeat(201), /"text"/],
      ['2026-05-17', undefined, /"text" is undefined/],
    ] as const) {
      await assert.rejects(activity.note(day as string, text as string), message)
    }
    await activity.note('2026-05-17', '\u{1f389}'.repeat(200))
  } finally {
    await activity.close()
  }
})

test('a note that the database does not write, or remove, rejects', async () => {
  const database = sqlite(':memory:')
  const activity = createActivity({ ...LOCAL, database })
  try {
    await activity.note('2026-05-17', 'x')
    await database.query('DROP TABLE activity_notes')
    await assert.rejects(activity.note('2026-05-17', 'y'), { code: 'SQLITE_ERROR' })
    await assert.rejects(activity.note('2026-05-17', null), { code: 'SQLITE_ERROR' })
  } finally {
    await activity.close()
    await database.close()
  }
})
