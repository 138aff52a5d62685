import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Activity } from '../activity/activity.js'
import { commitVisits } from '../activity/commit.js'
import { createActivity } from '../activity/site-activity.js'
import { memory } from '../cache/memory.js'
import { openDatabase } from '../database/open.js'
import { keptLog } from '../support/kept-log.fixture.js'
import type { NameState } from '../wide-cache/operations/name-state.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { UsageError } from './arguments.js'
import { status } from './status.js'
import { type Status, statusText } from './status-text.js'

const folder = temporaryFolder('status')
after(() => removeFolder(folder))

const databases: [string, () => Promise<string>][] = [
  ['SQLite', async () => `sqlite:${join(folder, 'site.db')}`],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
]

for (const [where, open] of databases) {
  describe(where, () => {
    let database: string
    let activity: Activity
    before(async () => {
      database = await open()
      const ports = { database, cache: memory(), collect: false, logger: keptLog() } as const
      activity = createActivity({ ...ports, timeZone: 'Europe/Berlin' })
      for (let visit = 0; visit < 3; visit++) activity.record({ page: '/' })
      await activity.flush()
      await activity.drain({ all: true })
    })
    after(() => activity.close())

    async function printed(
      flags: { json?: boolean; name?: string; all?: boolean } = {},
    ): Promise<string> {
      let text = ''
      await status(
        {
          database,
          name: flags.name,
          json: flags.json ?? false,
          watch: false,
          all: flags.all ?? false,
        },
        keptLog(),
        (part) => (text += part),
        { stop: new AbortController().signal, clear: 'never' },
      )
      return text
    }

    test('prints what SQL knows of each name, and how large the tables are', async () => {
      const { names, tables, readAt } = JSON.parse(await printed({ json: true })) as Status
      assert(Math.abs(readAt - Date.now()) < 60_000)
      assert.deepEqual(
        names.map(({ name, ledger, grids }) => [name, ledger.committed, grids.length]),
        [['activity', 3, 1]],
      )
      assert(tables['activities']! > 0 && tables['wide_cache_writers']! > 0)
      const text = await printed({ name: 'activity' })
      assert.match(
        text,
        /^activity {2}\(activity\)\n {2}issued +3 {2}processes seen +1 in 60 min\n/,
      )
      assert.match(text, / {2}days of +Europe\/Berlin\n/)
      assert.match(text, /\n {2}committed +3 {2}rows are kept +24 h\n/)
      assert.match(text, /\n {2}15 x 3 s {2}private .* never\n/)
      assert.match(text, /\nTABLE +SIZE\n\w+ +[\d,]+ KiB\n[^]*\n\d+ others +[\d,]+ KiB\n/)
    })

    test('prints the page views of all activities', async () => {
      // Of no site of its own.
      const direct = openDatabase(database).database
      const visit = { time: Date.now(), visitor: null, page: '/' }
      await direct.transaction((tx) =>
        commitVisits([visit], tx, { now: visit.time, name: 'activity.bots' } as never),
      )
      await direct.close()
      const [site, ...others] = JSON.parse(await printed({ all: true, json: true }))
      assert.deepEqual(
        [site.name, site.now, site.zone, others],
        ['activity', 3, 'Europe/Berlin', []],
      )
      const text = await printed({ all: true })
      assert.match(text, /^SITE +10 MINUTES +7 DAYS +CHANGE +14 DAYS\nactivity +3\n$/)
      await assert.rejects(
        printed({ all: true, name: 'activity' }),
        /--name does not go with --all/,
      )
    })

    test('a name that nobody has used is refused with those that there are', async () => {
      await assert.rejects(printed({ name: 'shop' }), (error) => {
        assert(error instanceof UsageError)
        assert.match(error.message, /^--name: no process has used it; names .*: activity$/)
        return true
      })
      await assert.rejects(printed({ name: 'a b' }), /"name" is "a b"; allowed/)
    })

    test('prints it again and again until it is told to stop', async () => {
      const stop = new AbortController()
      const parts: string[] = []
      await status(
        { database, name: undefined, json: false, watch: true, all: false },
        keptLog(),
        (part) => {
          if (parts.push(part) === 3) stop.abort()
        },
        { stop: stop.signal, clear: '---', everyMs: 10 },
      )
      assert.equal(parts.length, 3)
      assert(parts.every((part) => part.startsWith('---activity  (activity)\n')))
    })

    test('prints nothing more when it is told to stop while it waits', async () => {
      const stop = new AbortController()
      let parts = 0
      await status(
        { database, name: undefined, json: false, watch: true, all: false },
        keptLog(),
        () => {
          parts++
          setImmediate(() => stop.abort())
        },
        { stop: stop.signal, clear: '---', everyMs: 60_000 },
      )
      assert.equal(parts, 1)
    })

    test('does not mind that tables which it does not read are newer', async () => {
      const direct = openDatabase(database).database
      await direct.query(
        'INSERT INTO wide_cache_migrations (part, version, name, applied_at, oldest) ' +
          'VALUES (?, ?, ?, ?, ?)',
        ['counters', 1_000, 'newer', 0, 1_000],
      )
      assert.match(await printed(), /^activity/)
      await direct.query("DELETE FROM wide_cache_migrations WHERE part = 'counters'")
      await direct.close()
    })
  })
}

const STATE: NameState = {
  name: `hits.${'n'.repeat(22)}.seen`,
  readAt: 1_800_000_000_000,
  settings: {
    gridName: `hits.${'n'.repeat(22)}.seen`,
    kind: 'k'.repeat(32),
    cellTtlSeconds: 2_592_000,
    directSeconds: 75,
    vanishedSeconds: 2_592_000,
    keepSeconds: 315_000_000,
    historyDays: 366,
    repeatSeconds: 0,
    keep: '',
    givenTimeZone: '',
    timeZone: { name: 'America/Argentina/Buenos_Aires', leadMinutes: 0 },
  },
  ledger: {
    issued: 999_999_999_999,
    committed: 999_999_999_999,
    duplicate: 0,
    dropped: 0,
    lost: 0,
    quarantined: 0,
    outstanding: 0,
    owed: 0,
    writersSeen: 100_000,
  },
  grids: Array.from({ length: 9 }, (_, at) => ({
    width: 1_000,
    layerSeconds: 3_600,
    privateTo: at === 0 ? null : 'ab'.repeat(16),
    watermark: 500_000,
    drainedTo: at === 1 ? 9e15 : 1_790_000_000_000,
    lagMs: 10_000_000_000,
    layersWaiting: 99_999,
    movedAt: 0,
    usedAt: 0,
    periodSeconds: 10,
    isLeased: false,
    run: { at: 1_700_000_000_000, rows: 10_000_000, ms: 100_000 },
  })),
  quarantine: { frames: 1_000, rows: 5_000, unreadable: 1_000, oldestAt: 1_799_000_000_000 },
}

for (const [keepSeconds, told] of [
  [4_200, '70 min'],
  [86_400, '24 h'],
  [100 * 3_600, '100 h'],
  [3 * 86_400, '3 d'],
  [3 * 86_400 + 4_200, '73.2 h'],
] as const) {
  test(`rows that are kept for ${keepSeconds} s are said to be kept for ${told}`, () => {
    const settings = { ...STATE.settings, keepSeconds }
    const text = statusText({ readAt: 0, names: [{ ...STATE, settings }], tables: {} })
    assert.match(text, new RegExp(`  rows are kept +${told.replace('.', '\\.')}\n`))
    assert.match(text, /\nas of 1970-01-01T00:00:00\.000Z, by the clock of the database\n$/)
  })
}

test('the text has at most 80 columns, whatever the figures', () => {
  const text = statusText({
    readAt: STATE.readAt,
    names: [STATE],
    tables: { ['t'.repeat(64)]: 10 ** 15, activities: 0 },
  })
  assert(Math.max(...text.split('\n').map((line) => line.length)) <= 80, text)
  assert.match(text, / in quarantine +1,000 frames, 1,000 unreada…\n/)
  const quarantine = { frames: 1, rows: 5, unreadable: 0, oldestAt: STATE.readAt - 5_000 }
  const one = statusText({ readAt: 0, names: [{ ...STATE, quarantine }], tables: {} })
  assert.match(one, / in quarantine +1 frame, since 5 s\n/)
  assert.match(text, /\n {2}and 4 grids more\n/)
  const hostile = { ...STATE, name: 'a\u001b[2J', settings: { ...STATE.settings, kind: '\u009b' } }
  const shown = statusText({ readAt: 0, names: [hostile], tables: { '\u202e': 1 } })
  assert(!/[^\P{C}\n]/u.test(shown), shown)
  assert.match(
    statusText({ readAt: 0, names: [], tables: {} }),
    /^No process has used this database yet\.\n/,
  )
})
