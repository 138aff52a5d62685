import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, test } from 'node:test'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import type { Activity } from '../activity/activity.js'
import { readCertificate } from '../activity/certificate.js'
import { commitVisits } from '../activity/commit.js'
import { closeDays } from '../activity/day-closing.js'
import { readCalendar } from '../activity/days.js'
import { importDays as importAll, removeImport } from '../activity/imported-days.js'
import { createActivity } from '../activity/site-activity.js'
import { memory } from '../cache/memory.js'
import { type Database, DatabaseError, type Transaction } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { UTC } from '../support/calendar.js'
import { dayIn, dayText } from '../support/calendar-days.js'
import { DAY_MS } from '../support/clock.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { printCertificate } from './certificate.js'
import { exportSums } from './export.js'
import { importFile } from './import.js'

const folder = temporaryFolder('import-days')
after(() => removeFolder(folder))

let files = 0
/** Days since 1970. Each world counts from today on. */
const today = (): number => Math.floor(Date.now() / DAY_MS)
const ago = (days: number): string => dayText(today() - days)

interface World {
  readonly url: string
  readonly database: Database
  readonly activity: Activity
  /** Runs the command with a file of these lines: its status, and what it logs. */
  run(
    lines: readonly string[],
    flags?: { id?: string; name?: string; measure?: string },
  ): Promise<{ status: number; log: string }>
  remove(id: string): Promise<{ status: number; log: string }>
  /** Records a view, and brings it to SQL. */
  view(page: string, daysAgo?: number): Promise<void>
}

const databases: [string, () => Promise<string>][] = [
  ['SQLite', async () => `sqlite:${join(folder, `${files++}.db`)}`],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
]

function each(name: string, body: (world: World) => Promise<void>): void {
  for (const [where, fresh] of databases) {
    test(`${where}: ${name}`, async () => {
      const url = await fresh()
      const { database } = openDatabase(url)
      const cache = memory()
      const activity = createActivity({ cache, database, collect: false, statsTtlSeconds: 1 })
      await activity.stats()
      const command = async (options: Partial<Parameters<typeof importFile>[0]>) => {
        const log = keptLog()
        const unset = { id: undefined, measure: undefined, skipInvalid: false, remove: false }
        const all = { ...unset, database: url, name: 'activity', file: '', ...options }
        return { status: await importFile(all, log), log: log.lines.join('\n') }
      }
      try {
        await body({
          url,
          database,
          activity,
          run(lines, { id = 'old', ...flags } = {}) {
            const file = join(folder, `days-${files++}.csv`)
            writeFileSync(file, lines.join('\n'))
            return command({ file, id, ...flags })
          },
          remove: (id) => command({ file: id, remove: true }),
          async view(page, daysAgo = 0) {
            activity.record({ page, at: Date.now() - daysAgo * DAY_MS })
            await activity.flush()
            await activity.drain({ all: true })
          },
        })
      } finally {
        await activity.close()
        await Promise.all([cache.close(), database.close()])
      }
    })
  }
}

const DAYS = 'day,pageViews,visitors'
const PAGES = 'day,page,pageViews'

const daysOf = async ({ activity }: World, from: number) =>
  (await activity.history({ from: ago(from), to: ago(-1), by: 'day' })).map(
    ({ pageViews, visitors, imported }) => [pageViews, visitors, imported ?? false],
  )

each(
  'days before the first counted one are imported, and counted ones are as before',
  async (world) => {
    const { activity, database, run, view, url } = world
    await view('/now', 1)
    // In any order.
    const first = await run([DAYS, `${ago(3)},"60",30`, `${ago(4)},50,20`])
    assert.equal(first.status, 0, first.log)
    const what = `2 days from ${ago(4)} to ${ago(3)}; this run has added 2`
    assert(first.log.includes(what), first.log)
    const second = await run([PAGES, `${ago(5)},/a,7`, `${ago(5)},(other),2`], { id: 'older' })
    assert.equal(second.status, 0, second.log)
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    const wanted = [
      [null, null, false],
      [9, null, true],
      [50, 20, true],
      [60, 30, true],
      [null, null, false],
      [1, 0, false],
      [0, 0, false],
    ]
    assert.deepEqual(await daysOf(world, 6), wanted)
    // A day that is imported is closed: a view of it is late.
    await view('/late', 4)
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    assert.deepEqual(
      await daysOf(world, 6),
      wanted.map((day, at) => (at === 4 ? [1, 0, false] : day)),
    )

    const hours = await activity.history({ from: ago(4), to: ago(3), by: 'hour' })
    assert.deepEqual(new Set(hours.map(({ pageViews }) => pageViews)), new Set([null]))
    const top = await activity.top('page', { from: ago(5), to: ago(-1) })
    assert.deepEqual(top[0], { value: '(other)', pageViews: 112 })
    assert.deepEqual(top.find(({ value }) => value === '/a')?.pageViews, 7)
    const ofPage = await activity.history({
      from: ago(5),
      to: ago(3),
      by: 'day',
      dimension: 'page',
      value: '/a',
    })
    assert.deepEqual(
      ofPage.map(({ pageViews }) => pageViews),
      [7, null],
    )
    const [week] = await activity.history({ from: ago(5), to: ago(4), by: 'month' })
    assert.equal(week?.imported, true)

    const { balanced, findings, imported: mark } = await activity.certificate(ago(4))
    assert.deepEqual([balanced, findings, mark], [null, [], true])
    let text = ''
    const shown = new Writable({ write: (chunk, _, done) => ((text += String(chunk)), done()) })
    const asked = { database: url, name: undefined, day: ago(4), json: false }
    assert.equal(await printCertificate(asked, keptLog(), shown), true, 'it is no finding')
    assert.match(text, /, imported: nothing was counted here\n[^]*\nbalanced +not certified\n$/)
    let csv = ''
    const out = new Writable({ write: (chunk, _, done) => ((csv += String(chunk)), done()) })
    const unset = {
      name: undefined,
      by: undefined,
      top: undefined,
      n: undefined,
      format: undefined,
      dimension: undefined,
      value: undefined,
    }
    await exportSums({ ...unset, database: url, from: ago(6), to: ago(3) }, keptLog(), out)
    assert.deepEqual(
      csv
        .trim()
        .split('\r\n')
        .map((line) => line.split(',').at(-1)),
      ['imported', '', 'true', 'true'],
    )
    // The books close as without it.
    await closeDays(database, 'activity', Date.now() + DAY_MS, 0, (one) => {
      assert.deepEqual([one.balanced, one.findings], [true, []])
    })
    const closed = await readCertificate(database, 'activity', today() - 1, Date.now())
    assert.deepEqual([closed.balanced, closed.firstDay], [true, ago(2)])
  },
)

each(
  'a site without views imports all days before today, and can take them back',
  async (world) => {
    const { database, run, remove, view } = world
    const lines = [
      PAGES,
      ...Array.from({ length: 1_003 }, (_, page) => `${ago(1)},/${page},${page + 1}`),
    ]
    assert.equal((await run(lines)).status, 0)
    const again = await run(lines)
    assert.match(again.log, /has added 0$/)
    const { rows } = await database.query('SELECT COUNT(*) AS n FROM activity_day_values')
    assert.equal(Number(rows[0]?.['n']), 1_001)
    await view('/', 1)
    assert.deepEqual((await daysOf(world, 1)).at(-1), [1, 0, false])
    assert.equal((await remove('old')).status, 0)
    for (const table of ['activity_days', 'activity_day_values']) {
      const left = await database.query(`SELECT COUNT(*) AS n FROM ${table}`)
      assert.equal(Number(left.rows[0]?.['n']), 0)
    }
    assert.equal((await remove('old')).status, 1)
    // What is no refusal is an error, by which programs know that nothing was decided.
    await database.query('DROP TABLE activity_day_values')
    await assert.rejects(run([DAYS, `${ago(9)},1,1`]), DatabaseError)
    const days = await database.query('SELECT day FROM activity_days')
    assert.deepEqual(days.rows, [], 'a day without its pages is not there')
  },
)

each(
  'an import that ends at any statement is repeated, and each day is whole',
  async ({ database, run }) => {
    const day = today() - 30
    const days = new Map(
      Array.from({ length: 25 }, (_, at) => {
        const pages = new Map(Array.from({ length: 900 }, (_, page) => [`/${page}`, 1] as const))
        return [day + at, { line: at + 2, views: 900, visitors: null, pages }] as const
      }),
    )
    const toImport = { name: 'activity', id: 'old', days, calendar: UTC, today: today() }
    let left = 0
    const dying = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
      database.transaction((tx) => {
        const query: Transaction['query'] = (...statement) => {
          if (left-- <= 0) throw new Error('killed')
          return tx.query(...statement)
        }
        return work(
          new Proxy(tx, { get: (of, name) => (name === 'query' ? query : Reflect.get(of, name)) }),
        )
      })
    const whole = async () => {
      const { rows } = await database.query(
        'SELECT d.day, d.views, SUM(v.views) AS listed FROM activity_days AS d LEFT JOIN ' +
          'activity_day_values AS v ON v.name = d.name AND v.day = d.day GROUP BY d.day, d.views',
      )
      for (const { views, listed } of rows) assert.equal(Number(views), Number(listed))
      return rows.length
    }
    const seen = new Set<number>()
    for (let statements = 0; ; statements += 3) {
      left = statements
      const ended = await importAll(dying, toImport).then(
        () => true,
        (error: Error) => (assert.equal(error.message, 'killed'), false),
      )
      seen.add(await whole())
      if (ended) break
    }
    assert.equal(await whole(), 25)
    assert(seen.size > 2, 'some have ended in the midst of it')
    for (let statements = 0; ; statements += 3) {
      left = statements
      const ended = await removeImport(dying, 'activity', 'old').then(
        () => true,
        () => false,
      )
      await whole()
      if (ended) break
    }
    assert.equal(await whole(), 0)
    assert.equal((await run([DAYS, `${ago(1)},1,1`])).status, 0)
  },
)

each('two commands at once import each day once, and a day of two files by one', async (world) => {
  const { database, run } = world
  const fileOf = (from: number, days: number): string[] => [
    PAGES,
    ...Array.from({ length: days * 900 }, (_, at) => {
      return `${ago(from - Math.floor(at / 900))},/${at % 900},1`
    }),
  ]
  /** The days that commands say they have added. */
  const added = async (...commands: ReturnType<World['run']>[]) =>
    (await Promise.all(commands)).map(({ status, log }) => {
      const [, days = '0'] =
        /has added (\d+)$|ended after (\d+) days?: /.exec(log)?.filter(Boolean) ?? []
      assert.equal(status === 0, log.includes('has added'), log)
      return Number(days)
    })
  const wholeDays = async (id: string): Promise<number> => {
    const { rows } = await database.query(
      'SELECT d.day FROM activity_days AS d JOIN activity_day_values AS v ON v.name = d.name ' +
        'AND v.day = d.day WHERE d.imported = ? GROUP BY d.day, d.views ' +
        'HAVING SUM(v.views) = d.views',
      [id],
    )
    return rows.length
  }
  const same = fileOf(40, 13)
  const [one, two] = await added(run(same), run(same))
  assert.deepEqual([one! + two!, await wholeDays('old')], [13, 13])
  const [b, c] = await added(
    run(fileOf(100, 13), { id: 'b' }),
    run([...fileOf(95, 7), ...fileOf(130, 7).slice(1)], { id: 'c' }),
  )
  assert.deepEqual([await wholeDays('b'), await wholeDays('c')], [b, c])
  assert(b === 13 || c === 14, `${b} and ${c}`)
  const { rows } = await database.query('SELECT COUNT(*) AS n FROM activity_days')
  assert.equal(Number(rows[0]?.['n']), 13 + b! + c!)
})

each('wrong input names its line and what is allowed, and changes nothing', async (world) => {
  const { database, run, view } = world
  await view('/', 2)
  const before = async () =>
    (await database.query('SELECT open_day, first_day FROM activity_books')).rows
  const books = await before()
  const day = ago(9)
  for (const [lines, message] of [
    [[DAYS, `${day},1`], /wrong line 2: it has 2 cells, not 3/],
    [[DAYS, '2026-02-30,1,1'], /wrong line 2: the day is none such as 2026-05-17/],
    [[DAYS, '1969-12-31,1,1'], /wrong line 2: the day is none such as 2026-05-17/],
    [[DAYS, `${day},1,1`, `${day},2,2`], /wrong line 3: \S+ is on line 2 already/],
    [[DAYS, `${day},-1,1`], /wrong line 2: the page views are no whole number/],
    [[DAYS, `${day},1,x`], /wrong line 2: the visitors are no whole number/],
    [[DAYS, `${day},1,2`], /wrong line 2: it has more visitors than page views/],
    [[PAGES, `${day},/a,1`, `${day},/a,1`], /wrong line 3: \S+ has the page twice/],
    [[PAGES, `${day},,1`], /wrong line 2: the page is empty/],
    [
      [DAYS, `${day},1,1`, `${ago(2)},1,1`],
      /line 3: \S+ was counted here, .* allowed: days before/,
    ],
    [[DAYS, `${ago(-3)},1,1`], /line 2: \S+ has not ended; allowed: days before/],
  ] as const) {
    const { status, log } = await run(lines)
    assert.equal(status, 1, log)
    assert.match(log, message)
  }
  const many = await run([DAYS, ...Array<string>(25).fill('x')])
  assert.equal(many.log.match(/wrong line/g)?.length, 20)
  assert.match(many.log, /nothing is imported, because 25 lines of the file cannot be/)
  for (const [lines, message] of [
    [['a log line'], /line 1: the header is not item,hits or day,pageViews,visitors or day,page/],
    [[DAYS], /the file has no day/],
  ] as const) {
    await assert.rejects(run(lines), message)
  }
  await assert.rejects(
    run([DAYS, `${day},1,1`], { name: 'none' }),
    /--name: no process has used it/,
  )
  assert.deepEqual(await before(), books)
  assert.equal((await run([DAYS, `${day},1,1`])).status, 0)
  assert.match((await run([DAYS, `${day},2,1`])).log, /another file was imported with --id old/)
  const closed = await before()
  const other = await run([DAYS, `${day},1,1`, `${ago(3)},1,1`], { id: 'b' })
  assert.match(other.log, /line 2: .* with --id old/)
  assert.deepEqual(await before(), closed)
  assert.equal(dayIn(day), today() - 9)
})

each('days are in the zone that the site was given, also before its first view', async (world) => {
  const { database, run } = world
  const timeZone = 'America/Los_Angeles'
  const site = { name: 'west', cache: 'memory:', database, collect: false, timeZone } as const
  const activity = createActivity(site)
  await activity.stats()
  const there = new Date().toLocaleDateString('sv', { timeZone })
  const refused = await run([DAYS, `${there},1,1`], { name: 'west' })
  assert.match(refused.log, new RegExp(`${there} has not ended; allowed: days before ${there}`))
  const before = dayText(dayIn(there)! - 1)
  const imported = await run([DAYS, `${before},1,1`], { name: 'west' })
  assert.equal(imported.status, 0, imported.log)
  const calendar = await readCalendar(database, 'west')
  activity.record({ page: '/' })
  // The last hour of the imported day is closed, too, by the clocks of its zone.
  activity.record({ page: '/', at: calendar.startOfDay(dayIn(there)!) - 1 })
  await activity.flush()
  await activity.drain({ all: true })
  const days = await activity.history({ from: before, to: there, by: 'day' })
  const ofToday = await activity.certificate(there)
  await activity.close()
  assert.deepEqual([days[0]?.pageViews, days[0]?.imported], [1, true])
  assert.match(days[0]!.start, /T00:00:00-0[78]:00$/)
  assert.deepEqual([ofToday.pageViews, ofToday.late, ofToday.balanced], [2, 1, true])
})

each(
  'the first open day begins when the import has said, by whatever laws of the zone',
  async (world) => {
    const { database, run } = world
    const site = { name: 'west', cache: 'memory:', database, collect: false } as const
    const activity = createActivity({ ...site, timeZone: 'America/Los_Angeles' })
    await activity.stats()
    const day = today() - 2
    assert.equal((await run([DAYS, `${dayText(day)},1,1`], { name: 'west' })).status, 0)
    await activity.close()
    const before = await readCalendar(database, 'west')
    await database.query("UPDATE wide_cache_names SET time_zone = 'Asia/Tokyo' WHERE name = 'west'")
    const after = await readCalendar(database, 'west')
    assert.equal(after.firstHour(day + 1), before.firstHour(day + 1))
    assert.notEqual(after.firstHour(day - 5), before.firstHour(day - 5))
  },
)

each('a measure of its own is imported, and closes with its books', async (world) => {
  const { activity, database, run } = world
  assert.equal((await run([DAYS, `${ago(2)},7,3`], { measure: 'seen' })).status, 0)
  const days = await activity.history({ from: ago(2), to: ago(1), by: 'day' })
  assert.deepEqual([days[0]?.pageViews, days[0]?.seen], [null, 7])
  const { imported, pageViews } = await readCertificate(
    database,
    'activity.seen',
    today() - 2,
    Date.now(),
  )
  assert.deepEqual([imported, pageViews], [true, 7])
})

test('views of an imported day count at the start of the first open day', async () => {
  const { database } = openDatabase('sqlite::memory:')
  await database.migrate()
  const days = new Map([[20_000, { line: 2, views: 5, visitors: 1, pages: new Map() }]])
  const run = <T>(work: (tx: Transaction) => Promise<T>) => database.transaction(work)
  await importAll(run, { name: 'a', id: 'x', days, calendar: UTC, today: 20_005 })
  const visits = [{ time: 20_000 * DAY_MS + 5, visitor: null, page: '/' }]
  await database.transaction((tx) =>
    commitVisits(visits, tx, { now: 20_004 * DAY_MS, name: 'a' } as never),
  )
  const { rows } = await database.query('SELECT hour, views, late FROM activity_hours')
  assert.deepEqual(
    rows.map((row) => [Number(row['hour']), Number(row['views']), Number(row['late'])]),
    [[20_001 * 24, 1, 1]],
  )
  await database.close()
})
