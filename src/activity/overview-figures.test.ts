/** The figures of several sites are a recount of their views by local dates, on three databases. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { openDatabase } from '../database/open.js'
import { dayIn } from '../support/calendar-days.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { SILENT } from '../support/logger.js'
import { calendarOf, timeZoneOption } from '../support/time-zone.js'
import { closeDays } from './day-closing.js'
import { readCalendar } from './days.js'
import { importDays } from './imported-days.js'
import { readOverview } from './overview-figures.js'
import { createActivity } from './site-activity.js'

const folder = temporaryFolder('overview-figures')
after(() => removeFolder(folder))

const databases: [string, () => Promise<string>][] = [
  ['SQLite', async () => `sqlite:${join(folder, 'overview.db')}`],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
]

const NOW = Math.floor(Date.now() / 1000) * 1000
/** Now, and moments at which zones in the east and in the west have another date than UTC. */
const MOMENTS = [
  NOW,
  ...[1, 12, 23].map((hour) => {
    const at = Math.floor(NOW / DAY_MS) * DAY_MS + hour * HOUR_MS
    return at < NOW ? at : at - DAY_MS
  }),
]
/** Seconds before now, of which the first two are of the last ten minutes. */
const SECONDS_AGO = [0, 599, 600]
const IMPORTED_VIEWS = 10

interface Site {
  readonly zone: string
  /** Views by the days ago. */
  readonly views: Readonly<Record<number, number>>
  /** Days ago that are imported, and before which days are closed. */
  readonly imported?: readonly number[]
  readonly closedBefore?: number
}

const SITES: Readonly<Record<string, Site>> = {
  west: {
    zone: 'America/St_Johns',
    views: { 1: 3, 7: 1, 8: 2, 14: 5, 15: 1, 29: 1, 30: 4, 31: 6 },
    closedBefore: 10,
  },
  east: { zone: 'Pacific/Kiritimati', views: { 1: 4, 2: 1, 8: 1, 14: 1, 40: 1 }, closedBefore: 3 },
  young: { zone: 'UTC', views: { 3: 2 } },
  moved: { zone: 'UTC', views: { 3: 2 }, imported: [4, 7, 9, 14, 30, 31] },
  fallen: { zone: 'UTC', views: { 9: 8, 3: 2, 20: 1 } },
  silent: { zone: 'Asia/Kathmandu', views: { 33: 1 } },
}

/** Moments of views: the first and the last millisecond of a day, and between. */
function momentsOf({ zone, views }: Site): number[] {
  const calendar = calendarOf(timeZoneOption(zone))
  const today = calendar.dayOf(NOW)
  return Object.entries(views).flatMap(([ago, count]) => {
    const day = today - Number(ago)
    const [from, to] = [calendar.startOfDay(day), calendar.startOfDay(day + 1)]
    return Array.from({ length: count }, (_, n) => (n === 1 ? to - 1 : from + n * 1_000))
  })
}

/** What the overview has to say at a moment, by the dates that clocks show. */
function recounted(name: string, site: Site, moments: readonly number[], now: number) {
  const dates = new Intl.DateTimeFormat('sv', { timeZone: site.zone })
  const dayOf = (ms: number) => dayIn(dates.format(ms))!
  const [today, ofImport] = [dayOf(now), dayOf(NOW)]
  const daysOfMoments = moments.map(dayOf)
  const first = Math.min(...daysOfMoments)
  const days = Array.from({ length: 30 }, (_, at) => {
    const day = today - 30 + at
    if (site.imported?.includes(ofImport - day)) return IMPORTED_VIEWS
    return day < first ? null : daysOfMoments.filter((one) => one === day).length
  })
  const sum = (some: readonly (number | null)[]) =>
    some.includes(null) ? null : some.reduce<number>((all, one) => all + one!, 0)
  const [week, before] = [sum(days.slice(23)), sum(days.slice(16, 23))]
  return {
    name,
    zone: timeZoneOption(site.zone).name,
    now: moments.filter((ms) => now - 600_000 < ms && ms <= now).length,
    week,
    before,
    change: week === null || !before ? null : week / before - 1,
    days,
  }
}

for (const [where, fresh] of databases) {
  test(`${where}: the days of a row are whole days of its site, beside those before`, async () => {
    const { database } = openDatabase(await fresh())
    const options = { cache: 'memory:', database, collect: false, logger: SILENT } as const
    try {
      const recorded = new Map<string, readonly number[]>()
      for (const [name, site] of Object.entries(SITES)) {
        const activity = createActivity({ ...options, name, timeZone: site.zone })
        const moments = [...momentsOf(site), ...SECONDS_AGO.map((ago) => NOW - ago * 1_000)]
        for (const at of moments) activity.record({ page: '/', at })
        await activity.flush()
        await activity.drain({ all: true })
        const calendar = await readCalendar(database, name)
        const today = calendar.dayOf(NOW)
        if (site.closedBefore) {
          await closeDays(database, name, NOW - site.closedBefore * DAY_MS, 0, () => {})
        }
        const day = { line: 2, views: IMPORTED_VIEWS, visitors: null, pages: new Map() }
        const days = new Map(site.imported?.map((ago) => [today - ago, day]))
        const file = { name, id: 'before', days, calendar, today }
        if (days.size > 0) await importDays((work) => database.transaction(work), file)
        recorded.set(name, moments)
        await activity.close()
      }
      const names = Object.keys(SITES)
      for (const now of MOMENTS) {
        const found = await readOverview(database, [...names, 'no-site'], now)
        const wanted = names.map((name) => {
          return recounted(name, SITES[name]!, recorded.get(name)!, now)
        })
        const change = (one: { change: number | null }): number => one.change ?? -Infinity
        assert.deepEqual(
          found,
          wanted.sort((a, b) => change(b) - change(a) || (a.name < b.name ? -1 : 1)),
        )
      }
      assert.deepEqual(await readOverview(database, [], NOW), [])
      assert.deepEqual(
        (await readOverview(database, ['west'], NOW)).map(({ name }) => name),
        ['west'],
      )
    } finally {
      await database.close()
    }
  })
}
