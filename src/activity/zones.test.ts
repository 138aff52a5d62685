/**
 * Days of a time zone, across both changes of its clocks: figures equal a recount by local dates,
 * and no certificate finds a difference, also where processes know other laws of the zone.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from '../../test/fast-check.js'
import { fewOrMany } from '../../test/scale.js'
import type { Database } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { table } from '../database/table.js'
import type { PeriodRange as Days } from '../support/calendar.js'
import { DAY_MS } from '../support/clock.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { calendarOf, timeZoneOption } from '../support/time-zone.js'
import { enterName, enterTimeZone } from '../wide-cache/ledger/name-settings.js'
import { readCertificate } from './certificate.js'
import { commitVisits } from './commit.js'
import { readActivityHistory } from './activity-history.js'
import { readTop } from './history.js'
import { Recounts } from './recount.js'
import { removeValue } from './remove-value.js'
import { removeOldVisits } from './retention.js'
import { readValueHistory } from './value-history.js'
import type { Visit } from './visit.js'

const VANISHED_SECONDS = 3_600
const DAYS = 4
const ANNA = Buffer.alloc(12, 'anna')
/** Both changes of the clocks of each zone, or any days where there are none. */
const ZONES = [
  ['Europe/Berlin', '2026-03-28', '2026-10-24'],
  ['Asia/Kolkata', '2026-03-28', '2026-10-24'],
  ['America/Santiago', '2026-04-03', '2026-09-05'],
  ['Antarctica/Troll', '2026-03-28', '2026-10-24'],
  ['Pacific/Apia', '2011-12-29', '2011-09-23'],
] as const
/** Zones that a process may take another one for, whose laws are older or newer than its own. */
const MISTAKEN: Readonly<Record<string, string>> = {
  'Europe/Berlin': 'Africa/Lagos',
  'America/Santiago': 'America/Punta_Arenas',
}

const WRITERS = table(
  'wide_cache_writers',
  ['name', 'writer'],
  ['issued', 'add'],
  ['committed', 'add'],
  ['last_seen', 'greatest'],
)

const opened: Database[] = []
after(() => Promise.all(opened.map((database) => database.close())))

let names = 0

/** A site of a zone. */
async function siteIn(zone: string) {
  const { database } = openDatabase('sqlite::memory:')
  opened.push(database)
  await database.migrate()
  const name = `site-${++names}`
  const seconds = { cellTtlSeconds: 10, directSeconds: 75, vanishedSeconds: VANISHED_SECONDS }
  await enterName(database, { name, kind: 'activity', ...seconds, nameSettings: {} })
  const timeZone = timeZoneOption(zone)
  await enterTimeZone(database, name, timeZone)
  /** Has the next transaction know other laws of the zone. */
  const mistake = (isMistaken: boolean) =>
    database.query('UPDATE wide_cache_names SET time_zone = ?', [
      (isMistaken && MISTAKEN[zone]) || timeZone.name,
    ])
  const commit = (visits: readonly Visit[], now: number): Promise<void> =>
    database.transaction(async (tx) => {
      await commitVisits(visits, tx, { now, name })
      const { length } = visits
      await WRITERS.upsert(tx, [[name, Buffer.alloc(16), length, length, now]])
    })
  const collect = async (now: number): Promise<void> => {
    const retention = { rowsMs: 9 * DAY_MS, valuesDays: 8, vanishedSeconds: VANISHED_SECONDS }
    while (await removeOldVisits(database, { now, name }, retention));
  }
  return { database, name, calendar: calendarOf(timeZone), mistake, commit, collect }
}

type Site = Awaited<ReturnType<typeof siteIn>>

/** The date and the hour that clocks in a zone show. */
function localOf(zone: string, ms: number): { date: string; hour: string } {
  const text = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  }).format(ms)
  return { date: text.slice(0, 10), hour: text.slice(0, 13) }
}

type View = Omit<Visit, 'dimensions'>

/** The visits by the dates and hours that clocks in a zone show. */
function countsBy(part: 'date' | 'hour', zone: string, visits: readonly View[]) {
  const counts = new Map<string, number>()
  for (const { time } of visits) {
    const key = localOf(zone, time)[part]
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

/** Different visitors of each period. */
function visitorsBy(periodOf: (time: number) => string, visits: readonly View[]) {
  const seen = new Map<string, Set<string>>()
  for (const { time, visitor } of visits) {
    const period = periodOf(time)
    if (visitor) seen.set(period, (seen.get(period) ?? new Set()).add(visitor.toString('hex')))
  }
  return new Map([...seen].map(([period, visitors]) => [period, visitors.size]))
}

/** Compares all figures of days with a recount. */
async function compare({ database, name, calendar }: Site, visits: readonly View[], days: Days) {
  const { zone } = calendar
  const hours = { from: calendar.firstHour(days.from), to: calendar.firstHour(days.to) }
  const roots = visits.filter(({ page }) => page === '/')
  for (const [by, range, length] of [
    ['hour', hours, '2026-03-29T00'.length],
    ['day', days, '2026-03-29'.length],
  ] as const) {
    const part = by === 'day' ? 'date' : 'hour'
    const sums = (periods: readonly { start: string; pageViews: number | null }[]) => {
      const views = new Map<string, number>()
      for (const { start, pageViews } of periods) {
        const key = start.slice(0, length).replace('T', ' ')
        // An hour comes twice where clocks are set back.
        if (pageViews) views.set(key, (views.get(key) ?? 0) + pageViews)
      }
      return views
    }
    const found = await readActivityHistory(database, { name, count: 'served' }, by, range)
    assert.deepEqual(sums(found), countsBy(part, zone, visits))
    const key = { dimension: 'page', value: '/' }
    const ofRoot = await readValueHistory(database, name, by, range, key)
    assert.deepEqual(sums(ofRoot), countsBy(part, zone, roots))
    const visitors = found.flatMap(({ start, visitors }) =>
      visitors ? [[by === 'day' ? start.slice(0, length) : start, visitors] as const] : [],
    )
    const hourOf = (time: number) => calendar.textOf(calendar.startOfHour(calendar.hourOf(time)))
    const periodOf = by === 'day' ? (time: number) => localOf(zone, time).date : hourOf
    assert.deepEqual(new Map(visitors), visitorsBy(periodOf, visits))
  }
}

/** Recounts all hours. Returns what differs. */
async function recounted({ database, name }: Site, now: number): Promise<readonly string[]> {
  const log = keptLog()
  const recounts = new Recounts({ name, logger: new BurstLogger(log, () => 0) })
  for (let run = 0; run < 50; run++) await recounts.run(database, now + run * 60_000)
  return log.lines
}

/** Sums of certificates and tops, each of which agrees with the others. `own`: of the process. */
async function certified(
  { database, name, calendar }: Site,
  days: Days,
  now: number,
  own = calendar,
) {
  let [views, closed] = [0, 0]
  for (let day = days.from; day < days.to; day++) {
    const certificate = await readCertificate(database, name, day, now)
    assert.deepEqual(certificate.findings, [], certificate.day)
    views += certificate.pageViews
    if (certificate.closed) closed++
    const top = await readTop(database, name, 'page', own.hoursOf(day), { n: 10 })
    const inTop = top.reduce((sum, { pageViews }) => sum + pageViews, 0)
    assert.equal(inTop, certificate.pageViews, certificate.day)
  }
  return { views, closed }
}

const visits = fc
  .array(
    fc.record({
      minutes: fc.integer({ min: 0, max: DAYS * 24 * 60 }),
      visitor: fc.constantFrom(null, ...[1, 2, 3].map((number) => Buffer.alloc(12, number))),
      page: fc.constantFrom('/', '/a', '/b'),
      isMistaken: fc.boolean(),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .map((drawn) => drawn.sort((a, b) => a.minutes - b.minutes))

type Drawn = typeof visits extends fc.Arbitrary<infer Value> ? Value : never

for (const [zone, ...starts] of ZONES) {
  for (const start of starts) {
    const from = Date.parse(`${start}T00:00Z`)
    const end = from + (DAYS + 1) * DAY_MS
    /** Commits visits one by one, and collects after each. */
    const record = async (drawn: Drawn, areMistaken: boolean) => {
      const site = await siteIn(zone)
      const { calendar } = site
      // Each first and last hour of a day has a visit, too.
      const edges = Array.from({ length: DAYS }, (_, at) => calendar.dayOf(from) + 1 + at).flatMap(
        (day) => [calendar.startOfDay(day), calendar.startOfDay(day) - 60_000],
      )
      const all = [
        ...drawn.map(({ minutes, ...visit }) => ({ ...visit, time: from + minutes * 60_000 })),
        ...edges.map((time) => ({ visitor: ANNA, page: '/', isMistaken: false, time })),
      ].sort((a, b) => a.time - b.time)
      for (const { isMistaken, ...visit } of all) {
        await site.mistake(areMistaken && isMistaken)
        await site.commit([{ ...visit, dimensions: undefined }], visit.time)
        await site.mistake(areMistaken && visit.page === '/a')
        await site.collect(visit.time)
      }
      await site.mistake(false)
      return { site, all, days: { from: calendar.dayOf(from), to: calendar.dayOf(end) + 1 } }
    }

    test(`${zone} from ${start} on: figures equal a recount by local dates`, () =>
      fc.assert(
        fc.asyncProperty(visits, async (drawn) => {
          const { site, all, days } = await record(drawn, false)
          await compare(site, all, days)
          assert.equal((await certified(site, days, end)).views, all.length)
          // Changed hours of an open day are no finding of the next day: seconds tell.
          const last = site.calendar.dayOf(from) + DAYS
          const change = (by: number) =>
            site.database.query('UPDATE activity_hours SET views = views + ? WHERE hour = ?', [
              by,
              site.calendar.firstHour(last),
            ])
          await change(1)
          const next = await readCertificate(site.database, site.name, last + 1, end)
          assert.deepEqual(next.findings, [])
          await change(-1)
          await site.collect(end + 2 * DAY_MS)
          await compare(site, all, days)
          const length = days.to - days.from
          assert.deepEqual(await certified(site, days, end), { views: all.length, closed: length })
          assert.deepEqual(await recounted(site, end), [])
          await removeValue(site.database, site.name, 'page', '/')
          await certified(site, days, end)
        }),
        { numRuns: fewOrMany(1, 30) },
      ))

    const mistaken = MISTAKEN[zone]
    if (mistaken) {
      const wrong = calendarOf(timeZoneOption(mistaken))
      test(`${zone} from ${start} on: processes that know other laws agree on each day`, () =>
        fc.assert(
          fc.asyncProperty(visits, async (drawn) => {
            const { site, all, days } = await record(drawn, true)
            assert.deepEqual(await recounted(site, end), [])
            await certified(site, days, end)
            await site.collect(end + 2 * DAY_MS)
            const { views, closed } = await certified(site, days, end)
            assert.deepEqual([views, closed], [all.length, days.to - days.from])
            await site.mistake(true)
            // After 400 days the books keep no first hours, and certificates still do.
            await site.database.query("UPDATE activity_books SET first_hours = ''")
            assert.deepEqual(await certified(site, days, end, wrong), { views, closed })
          }),
          { numRuns: fewOrMany(2, 60) },
        ))
    }
  }
}
