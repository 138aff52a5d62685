/** The command on three databases: logs of whole days beside what a site has counted of them. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { removeFolder, temporaryFolder } from '../../../test/servers/process.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../../test/servers/shared.js'
import { commitVisits } from '../../activity/commit.js'
import { closeDays } from '../../activity/day-closing.js'
import { createActivity } from '../../activity/site-activity.js'
import { openDatabase } from '../../database/open.js'
import { dayText } from '../../support/calendar-days.js'
import { DAY_MS, HOUR_MS } from '../../support/clock.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { importFile } from '../import.js'
import { formatFor } from './fields.js'
import { reconcile } from './reconcile.js'

const folder = temporaryFolder('reconcile')
after(() => removeFolder(folder))

const NAME = 'log-site'
/** Its days begin at 18:30 UTC. */
const TIME_ZONE = 'Asia/Kolkata'
const AHEAD_MS = 5.5 * HOUR_MS
const TODAY = Math.floor((Date.now() + AHEAD_MS) / DAY_MS)
/** Counting begins on the first day, of which the log has the end. */
const [FIRST, LAST] = [TODAY - 5, TODAY - 2]
const [PERSON, BOT] = ['Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0', 'Googlebot/2.1']

const startOf = (day: number): number => day * DAY_MS - AHEAD_MS

interface View {
  readonly at: number
  readonly page: string
  readonly isBot: boolean
}

/** Views of each hour, and of the first and the last millisecond of each day. */
const VIEWS: readonly View[] = Array.from({ length: LAST - FIRST + 2 }, (_, of) => FIRST + of)
  .flatMap((day) => [
    { at: startOf(day), page: '/first', isBot: false },
    ...Array.from({ length: 24 }, (_, hour) => {
      const page = ['/a', '/caf%C3%A9', '/b'][hour % 3]!
      return { at: startOf(day) + hour * HOUR_MS + 7, page, isBot: hour % 5 === 0 }
    }),
    { at: startOf(day + 1) - 1, page: '/last', isBot: false },
  ])
  .filter(({ at }) => at >= startOf(FIRST) + 2 * HOUR_MS)

function lineOf({ at, page, isBot }: View): string {
  const answer = { method: 'GET', status: '200', type: 'text/html', upstream: '200' }
  const asked = { host: 'a.example', accept: 'text/html', 'user-agent': isBot ? BOT : PERSON }
  return JSON.stringify({
    time: (at / 1000).toFixed(3),
    uri: page.toLowerCase(),
    ...answer,
    ...asked,
  })
}

/** Writes lines to two files, of which the second is packed. */
function filesOf(name: string, lines: readonly string[]): string[] {
  const [one, two] = [join(folder, name), join(folder, `${name}.gz`)]
  const half = Math.floor(lines.length / 2)
  writeFileSync(one, lines.slice(0, half).join('\n'))
  writeFileSync(two, gzipSync(lines.slice(half).join('\n')))
  return [one, two]
}

const LINES = VIEWS.map(lineOf)
const UNSET = {
  name: NAME,
  from: dayText(FIRST),
  to: dayText(LAST + 1),
  host: undefined,
  allow: undefined,
  format: undefined,
  csv: false,
  json: false,
}
type Options = Parameters<typeof reconcile>[0]

async function run(options: Partial<Options>) {
  let out = ''
  const log = keptLog()
  const writable = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) })
  const status = await reconcile({ ...UNSET, files: [], ...options } as Options, log, writable)
  return { status, out, log: log.lines.join('\n') }
}

interface Report {
  readonly zone: string
  readonly days: readonly { day: string; pages: object; bots: object; difference: number }[]
  readonly left: readonly { day: string; why: string }[]
  readonly pages: readonly object[]
  readonly lines: Readonly<Record<string, number>>
  readonly limits: readonly string[]
}

const databases: [string, () => Promise<string>][] = [
  ['SQLite', async () => `sqlite:${join(folder, 'reconcile.db')}`],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
]

for (const [where, fresh] of databases) {
  test(`${where}: each whole day of the site's zone is compared, page by page`, async () => {
    const url = await fresh()
    const { database } = openDatabase(url)
    const options = { cache: 'memory:', database, collect: false, logger: keptLog() } as const
    const activity = createActivity({ ...options, name: NAME, timeZone: TIME_ZONE })
    for (const { at, page, isBot } of VIEWS) if (!isBot) activity.record({ page, at })
    await activity.flush()
    await activity.drain({ all: true })
    const bots = VIEWS.filter(({ isBot }) => isBot)
    // As a site enters its bots with their first view: with its own zone.
    const { rows } = await database.query('SELECT * FROM wide_cache_names WHERE name = ?', [NAME])
    const entered = { ...rows[0], name: `${NAME}.bots` }
    await database.query(
      `INSERT INTO wide_cache_names (${Object.keys(entered).join()}) ` +
        `VALUES (${Object.keys(entered)
          .map(() => '?')
          .join()})`,
      Object.values(entered),
    )
    const visits = bots.map(({ at, page }) => ({ time: at, visitor: null, page }))
    await database.transaction((tx) =>
      commitVisits(visits, tx, { now: Date.now(), name: `${NAME}.bots` } as never),
    )
    for (const name of [NAME, `${NAME}.bots`]) {
      await closeDays(database, name, startOf(LAST + 1) + HOUR_MS, 0, () => {})
    }
    const reported = async (given: Partial<Options>) => {
      const { status, out } = await run({ database: url, json: true, ...given })
      return { status, ...(JSON.parse(out) as Report) }
    }
    const whole = filesOf(`${where}-whole`, LINES)
    const pair = (count: number) => ({ log: count, counted: count })
    try {
      const all = await reported({ files: whole, allow: '0' })
      const left = [{ day: dayText(FIRST), why: 'counting began in the course of it' }]
      assert.deepEqual([all.pages, all.days.length], [[], LAST - FIRST])
      assert.deepEqual([all.status, all.zone, all.left], [0, 'Asia/Calcutta', left])
      for (const one of all.days) {
        const want = { day: one.day, pages: pair(21), bots: pair(5), late: 0, difference: 0 }
        assert.deepEqual(one, want)
      }
      // A later range has all of its first day, too.
      const later = await reported({ files: whole, allow: '0', from: dayText(FIRST + 1) })
      assert.deepEqual([later.status, later.left, later.pages], [0, [], []])
      assert.deepEqual(later.days, all.days)
      const unread = [...LINES, ...Array<string>(Math.ceil(LINES.length / 50)).fill('no line')]
      const partlyRead = await reported({ files: filesOf(`${where}-unread`, unread), allow: '0' })
      assert.deepEqual([partlyRead.status, partlyRead.days], [1, all.days])
      const outside = VIEWS.filter(({ at }) => at >= startOf(LAST + 1)).length
      const inRange = VIEWS.filter(({ at }) => at < startOf(LAST + 1))
      assert.equal(all.lines['outside'], outside)
      assert.equal(all.lines['bot'], inRange.filter(({ isBot }) => isBot).length)
      assert.equal(all.lines['page'], inRange.filter(({ isBot }) => !isBot).length)

      // A view of another page, one too many, and a bot too few, each on a day of its own.
      const other = LINES.map((line, at) => {
        const { page, at: time, isBot } = VIEWS[at]!
        const day = Math.floor((time + AHEAD_MS) / DAY_MS)
        if (day === FIRST + 1 && page === '/first') return line.replace('/first', '/last')
        if (day === FIRST + 2 && page === '/last') return `${line}\n${line}`
        return day === FIRST + 3 && isBot && time < startOf(day) + HOUR_MS ? '' : line
      })
      const differing = await reported({ files: filesOf(`${where}-other`, other) })
      assert.equal(differing.status, 1)
      assert.deepEqual(
        differing.days.map(({ difference }) => Math.round(difference)),
        [5, 5, 20],
      )
      assert.deepEqual(differing.pages, [
        { day: dayText(FIRST + 1), page: '/last', log: 2, counted: 1 },
        { day: dayText(FIRST + 1), page: '/first', log: 0, counted: 1 },
        { day: dayText(FIRST + 2), page: '/last', log: 2, counted: 1 },
      ])
      const allowing = { database: url, files: filesOf(`${where}-other`, other) }
      assert.equal((await run({ ...allowing, allow: '20' })).status, 0)
      const text = await run({ ...allowing, allow: '19.9' })
      assert.equal(text.status, 1)
      assert.match(text.out, new RegExp(`^${dayText(FIRST + 2)} +22 +21 +5 +5 +4.5 %$`, 'm'))
      assert.match(text.out, new RegExp(`^${dayText(FIRST)} is left out: counting began`, 'm'))

      // A combined log says less, and the report says so.
      const combined = VIEWS.map(({ at, page, isBot }) => {
        const [, date, month, year, time] = new Date(at).toUTCString().split(' ')
        const agent = isBot ? BOT : PERSON
        const asked = `[${date}/${month}/${year}:${time} +0000] "GET ${page} HTTP/1.1"`
        return `10.0.0.1 - - ${asked} 200 5 "-" "${agent}"`
      })
      combined.splice(30, 0, combined[30]!.replace('GET /', 'GET /never/'))
      const less = await reported({ files: filesOf(`${where}-combined`, combined), allow: '0' })
      assert.deepEqual([less.status, less.pages, less.limits.length], [0, [], 2])
      assert.deepEqual([less.lines['never'], less.days.length], [1, LAST - FIRST])

      // The log without the first hour of the first day that is asked for.
      const next = startOf(FIRST + 1)
      const begun = VIEWS.filter(({ at }) => at < next || at >= next + HOUR_MS).map(lineOf)
      const from = dayText(FIRST + 1)
      const { left: inPart } = await reported({ files: filesOf(`${where}-begun`, begun), from })
      assert.deepEqual(
        inPart.map(({ day, why }) => [day, why.match(/hour at \S+/)?.[0]]),
        [[from, `hour at ${from}T00:00:00`]],
      )

      // The log without an hour, and up to an hour before the end of its last day.
      const noon = startOf(FIRST + 2) + 12 * HOUR_MS
      const partly = VIEWS.filter(
        ({ at }) => (at < noon || at >= noon + HOUR_MS) && at < startOf(LAST + 1) - HOUR_MS,
      )
      const parts = await reported({ files: filesOf(`${where}-part`, partly.map(lineOf)) })
      assert.deepEqual(
        parts.days.map(({ day }) => day),
        [dayText(FIRST + 1)],
      )
      assert.match(parts.left[1]!.why, new RegExp(`hour at ${dayText(FIRST + 2)}T12:00:00`))
      assert.match(parts.left[2]!.why, /the log ends at \S+T22:00:00: give the file after it, too/)

      // What is printed for the import is imported as it is, under another name.
      const csv = await run({ database: url, files: whole, csv: true })
      const before = createActivity({ ...options, name: 'before', timeZone: TIME_ZONE })
      await before.stats()
      const file = join(folder, `${where}.csv`)
      writeFileSync(file, csv.out)
      const log = keptLog()
      const given = { database: url, name: 'before', file, id: 'log', measure: undefined }
      const added = await importFile({ ...given, skipInvalid: false, remove: false }, log)
      assert.equal(added, 0, log.lines.join('\n'))
      const range = { from: startOf(FIRST), to: startOf(LAST + 1), by: 'day' } as const
      const [counted, imported] = [await activity.history(range), await before.history(range)]
      assert.deepEqual(
        imported.slice(1).map(({ start, pageViews }) => [start, pageViews]),
        counted.slice(1).map(({ start, pageViews }) => [start, pageViews]),
      )
      assert.match(csv.log, new RegExp(`${dayText(FIRST)} is left out: the log begins at`))
      assert.equal(imported[0]?.pageViews, null)
      await before.close()
      const ofImport = run({ database: url, name: 'before', files: whole })
      await assert.rejects(ofImport, /no day can be compared/)
    } finally {
      await activity.close()
      await database.close()
    }
  })
}

test('a late view is counted in an hour of which the log need not have a line', async () => {
  const url = `sqlite:${join(folder, 'late.db')}`
  const { database } = openDatabase(url)
  const activity = createActivity({ name: NAME, cache: 'memory:', database, collect: false })
  const day = Math.floor(Date.now() / DAY_MS) - 4
  const timeOf = (hour: number): number => day * DAY_MS + hour * HOUR_MS
  const countThenClose = async (hours: readonly number[], closed: number) => {
    for (const hour of hours) activity.record({ page: '/', at: timeOf(hour) })
    await activity.flush()
    await activity.drain({ all: true })
    await closeDays(database, NAME, timeOf(24 * closed) + 1, 0, () => {})
  }
  await countThenClose([5], 1)
  // The first is of the day that is closed.
  await countThenClose([6, 24 + 5], 2)
  const lines = [23, 24 + 5, 48].map((hour) =>
    lineOf({ at: timeOf(hour), page: '/', isBot: false }),
  )
  const range = { from: dayText(day + 1), to: dayText(day + 2) }
  const files = filesOf('late', lines)
  const { out } = await run({ database: url, json: true, files, ...range })
  const { days, left } = JSON.parse(out) as Report
  assert.deepEqual(left, [])
  const pages = { log: 1, counted: 2 }
  const bots = { log: 0, counted: 0 }
  assert.deepEqual(days, [{ day: dayText(day + 1), pages, bots, late: 1, difference: 50 }])
  await activity.close()
  await database.close()
})

test('wrong flags are refused, and lines that cannot be read are told', async () => {
  const url = `sqlite:${join(folder, 'flags.db')}`
  const activity = createActivity({ name: NAME, cache: 'memory:', database: url, collect: false })
  activity.record({ page: '/' })
  await activity.close()
  const files = filesOf('flags', LINES)
  for (const [options, message] of [
    [{ format: 'nginx', files }, /--format prints a format, and reads no file/],
    [{ format: 'iis', files: [] }, /option "format" is "iis"/],
    [{ files: [] }, /reconcile wants files, or - for stdin/],
    [{ csv: true, json: true }, /--csv does not go with --json/],
    [{ from: undefined }, /--from is missing/],
    [{ to: undefined }, /--to is missing/],
    [{ from: '2026-02-30' }, /"from" is "2026-02-30"/],
    [{ to: dayText(FIRST) }, /--from and --to are one moment: --to is the end/],
    [{ allow: '101' }, /--allow wants percent, a number from 0 to 100/],
    [{ allow: '1,5' }, /--allow wants percent/],
    [{ name: 'none' }, /--name: no visits are recorded under it/],
    [{ files: [join(folder, 'missing.log')] }, /ENOENT/],
    [{}, /no day can be compared/],
  ] as const) {
    await assert.rejects(run({ database: url, files, ...options } as Partial<Options>), message)
  }
  const before = await run({ database: url, files, csv: true, name: 'not-yet-counted' })
  assert.match(before.out, /^day,page,pageViews\r\n\S+,\/a,6\r\n/)
  for (const server of ['nginx', 'apache', 'caddy'] as const) {
    const { status, out } = await run({ format: server })
    assert.deepEqual([status, out], [0, formatFor(server)])
  }
  const unread = async (wrong: number, right: number) => {
    const lines = [...Array<string>(wrong).fill('no line'), ...Array<string>(right).fill(LINES[0]!)]
    return run({ database: url, csv: true, files: filesOf('unread', lines) })
  }
  assert.equal((await unread(1, 99)).status, 0)
  const { status, log } = await unread(2, 98)
  assert.equal(status, 1)
  assert.match(log, /2 of 100 lines cannot be read/)
  await assert.rejects(unread(3, 0), /no line can be read: reconcile reads combined logs/)
  assert(readFileSync(files[0]!).length > 1_000)
})
