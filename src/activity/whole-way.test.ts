/**
 * The whole way, from visits that are recorded to sums that are read: whatever is recorded in
 * whatever processes, and whatever the cache loses and SQL refuses, sums are a recount.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from '../../test/fast-check.js'
import { type CacheFault, FaultyCache } from '../../test/simulated-world/faulty-cache.js'
import { failingAnywhere, type FaultyDatabase } from '../../test/simulated-world/faulty-database.js'
import { type Pair, PAIRS_OF_ANY_CACHE, randomFrom, type Site } from '../counters/pairs.fixture.js'
import type { Database, SqlRow } from '../database/database.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { calendarOf, type TimeZone, timeZoneOption } from '../support/time-zone.js'
import { enterTimeZone } from '../wide-cache/ledger/name-settings.js'
import { openRows } from '../wide-cache/row-recorder.fixture.js'
import type { RowRecorder } from '../wide-cache/wide-cache.js'
import { SiteActivity } from './site-activity.js'
import { DAY_MS, HOUR_MS } from '../support/clock.js'
import { readCertificate } from './certificate.js'
import { commitVisits, MAX_COMMIT_ROWS } from './commit.js'
import { packDimensions, packedPairs, unpackPair } from './packed-dimensions.js'
import type { MeasuredPeriod } from '../dashboard/site-figures.js'
import { recounted } from './recounted.fixture.js'
import type { Calendar, Period } from '../support/calendar.js'
import { activitySettings } from './options.js'
import { removeOldVisits } from './retention.js'
import { OTHER } from './sums.js'
import { fitText } from './text.js'
import { type Visit, visitCodec } from './visit.js'

/**
 * Days of some zones, at UTC's noon: the last ones before their clocks are set. All are long ago,
 * so that the database's clock is ahead of all that is recorded.
 */
const STARTS = [
  ['UTC', '2026-05-17'],
  ...['2026-03-28', '2026-10-24'].flatMap((day) => [
    ['Europe/Berlin', day] as const,
    ['Antarctica/Troll', day] as const,
  ]),
  ['Asia/Kolkata', '2026-03-28'],
  ['America/Santiago', '2026-04-04'],
  ['America/Santiago', '2026-09-05'],
] as const
/** The zone that a process is given which comes too late to decide. */
const LATE_ZONE = 'Asia/Tokyo'
const VANISHED_SECONDS = 3_600
const VALUES_A_DAY = 1_000

/** Layers so long that none is old: visits come to SQL by `drain({ all: true })` and `close()`. */
const GRID = { layerSeconds: 3_600, cellTtlSeconds: 21_600, width: 3, collect: false } as const

const RUNS: Readonly<Record<string, number>> = {
  'memory and SQLite': 10,
  'memcached and MariaDB': 3,
  'Redis and MariaDB': 3,
  'Redis and PostgreSQL': 3,
}

/** Visits as they count: when, and whether late. */
type Counted = Visit & { readonly late: boolean }

/** The sums as they must be. */
class Recount {
  readonly #days: Calendar
  readonly #visits: Counted[] = []
  #openFrom = 0

  constructor(days: Calendar) {
    this.#days = days
  }

  /** Visits that come to SQL now. */
  add(visits: readonly Visit[]): void {
    for (const visit of visits) {
      const late = visit.time < this.#openFrom
      this.#visits.push({ ...visit, time: Math.max(visit.time, this.#openFrom), late })
    }
  }

  closeAt(now: number): void {
    const openFrom = this.#days.startOfDay(this.#days.dayOf(now - VANISHED_SECONDS * 1000))
    if (this.#visits.length > 0) this.#openFrom = Math.max(this.#openFrom, openFrom)
  }

  history(by: Period, from: number, to: number): MeasuredPeriod[] {
    const range = this.#days.rangeOf(by, from, to)
    const visits = new Map<number, Visit[]>()
    for (const visit of this.#visits) {
      const period = this.#days.periodOf(by, visit.time)
      const of = visits.get(period)
      if (of) of.push(visit)
      else visits.set(period, [visit])
    }
    return Array.from({ length: range.to - range.from }, (_, index) => {
      const period = range.from + index
      const of = visits.get(period) ?? []
      return {
        start: this.#days.textOf(this.#days.startOf(by, period)),
        pageViews: of.length,
        visitors: new Set(of.flatMap(({ visitor }) => visitor?.toString('hex') ?? [])).size,
      }
    })
  }

  get firstDay(): number {
    const first = Math.min(...this.#visits.map(({ time }) => time))
    if (first === Infinity) return first
    return this.#days.startOfDay(this.#days.dayOf(first))
  }

  get late(): number {
    return this.#visits.filter(({ late }) => late).length
  }

  /** The views of each value, by dimension and period; of closed days only the first ones. */
  values(by: Period): Map<string, number> {
    const byPlace = new Map<string, Map<string, number>>()
    for (const { time, page, dimensions = '' } of this.#visits) {
      if (by === 'day' && time >= this.#openFrom) continue
      for (const [name, text] of [['page', page], ...packedPairs(dimensions).map(unpackPair)]) {
        const place = `${name} ${this.#days.periodOf(by, time)}`
        const values = byPlace.get(place) ?? new Map<string, number>()
        byPlace.set(place, values)
        const value = text === OTHER ? '' : fitText(text!, 255)
        values.set(value, (values.get(value) ?? 0) + 1)
      }
    }
    const found = new Map<string, number>()
    for (const [place, values] of byPlace) {
      const named = [...values].filter(([value]) => value !== '')
      named.sort((a, b) => b[1] - a[1] || Buffer.compare(Buffer.from(a[0]), Buffer.from(b[0])))
      const listed = by === 'day' ? named.slice(0, VALUES_A_DAY) : named
      for (const [value, views] of listed) found.set(`${place} ${value}`, views)
      const sum = (counts: Iterable<number>) => [...counts].reduce((a, b) => a + b, 0)
      const others = sum(values.values()) - sum(listed.map(([, views]) => views))
      if (others > 0) found.set(`${place} `, others)
    }
    return found
  }
}

/** Visits that one process has recorded; a visit `ago` hours before the latest hour. */
const visits = fc.array(
  fc.record({
    ago: fc.oneof(
      fc.constantFrom(0, 1, 23, 24, 25),
      fc.double({ min: 0, max: 40, noNaN: true }),
      fc.integer({ min: 0, max: 40 }),
    ),
    visitor: fc.option(fc.integer({ min: 0, max: 6 }), { freq: 5 }),
    page: fc.constantFrom('/', '/a', '/b', '/日本', OTHER, `/${'é'.repeat(200)}`),
    dimensions: fc.constantFrom(
      undefined,
      packDimensions(['referrer', 'example.com']),
      packDimensions(['referrer', 'example.org', 'device', 'phone']),
      packDimensions(['device', 'tablet']),
    ),
  }),
  { maxLength: 25 },
)

/** Some processes record and end, while collectors drain; then time goes on. */
const rounds = fc.array(
  fc.record({
    processes: fc.array(visits, { minLength: 1, maxLength: 3 }),
    /** Pages that are each viewed once, more than a day lists. */
    crowd: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.constant(1_020)),
    drains: fc.integer({ min: 0, max: 3 }),
    hours: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.constant(24)),
    closes: fc.boolean(),
    seed: fc.integer(),
  }),
  { minLength: 1, maxLength: 4 },
)

type Round = typeof rounds extends fc.Arbitrary<(infer One)[]> ? One : never

/** One site on a pair of servers, whose faults can be switched on. */
class World {
  readonly name = `way-${randomBytes(5).toString('hex')}`
  readonly days: Calendar
  readonly recount: Recount
  /** The day before all visits. */
  readonly firstDay: number
  readonly database: Database
  readonly #faulty: FaultyDatabase
  readonly #cache: FaultyCache
  readonly #log = keptLog()
  #random = randomFrom(1)
  #faults = false
  readonly #zone: TimeZone
  now: number
  checks = 0

  constructor(site: Site, database: Database, [zone, start]: (typeof STARTS)[number]) {
    this.#zone = timeZoneOption(zone)
    this.days = calendarOf(this.#zone)
    this.recount = new Recount(this.days)
    this.now = Date.parse(`${start}T12:00Z`)
    this.firstDay = this.days.dayOf(this.now) - 3
    this.database = database
    const fails = (chance: number): boolean => this.#faults && this.#random() < chance
    this.#faulty = failingAnywhere(database, () => fails(0.02))
    const fault = (operation: string): CacheFault => {
      if (fails(0.05)) return 'timeout'
      // The cell has the frame, and the writer does not know it: it places it again.
      if (fails(0.1)) return 'done'
      return operation === 'append' && fails(0.1) ? 'lost' : 'none'
    }
    // All processes share it, as if it were a server.
    this.#cache = new FaultyCache(site.cache(), fault, 'shared')
  }

  /** Number of failures of SQL so far. */
  get faults(): number {
    return this.#faulty.faults
  }

  async run({ processes, crowd, drains, hours, closes, seed }: Round): Promise<void> {
    this.#random = randomFrom(seed)
    const writers = processes.map(() => this.#writer())
    await Promise.all(writers.map((writer) => writer.migrate()))
    await enterTimeZone(this.database, this.name, this.#zone)
    const collectors = Array.from({ length: drains }, () => this.activity())
    await Promise.all(collectors.map((collector) => collector.migrate()))
    this.#faults = true
    const recorded: Visit[] = []
    for (const [index, writer] of writers.entries()) {
      for (const { ago, visitor, ...visit } of processes[index]!) {
        const time = Math.max(0, Math.floor(this.now - ago * HOUR_MS))
        const hash = visitor === null ? null : Buffer.alloc(12, visitor)
        recorded.push({ ...visit, time, visitor: hash })
        writer.append(recorded.at(-1)!)
      }
    }
    for (let page = 0; page < crowd; page++) {
      recorded.push({ time: this.now, visitor: null, page: `/crowd/${page % 1_010}` })
      writers[0]!.append(recorded.at(-1)!)
    }
    await Promise.allSettled(writers.map((writer) => writer.flush()))
    // Collectors and direct commits compete for the same frames.
    await Promise.allSettled([
      ...collectors.map((collector) => collector.drain({ all: true })),
      ...writers.slice(1).map((writer) => writer.close()),
    ])
    this.#faults = false
    await Promise.all([...writers, ...collectors].map((process) => process.close()))
    await this.#drain()
    this.recount.add(recorded)
    this.now += hours * HOUR_MS
    if (closes) await this.removeOld(8)
  }

  /** Two collectors close days and remove rows; SQL fails, until it does not. */
  async removeOld(valuesDays: number): Promise<void> {
    const collect = async (database: Database): Promise<void> => {
      const retention = {
        rowsMs: 0,
        valuesDays,
        directSeconds: 75,
        vanishedSeconds: VANISHED_SECONDS,
      }
      const context = { now: this.now, name: this.name }
      while (await removeOldVisits(database, context, retention));
    }
    this.#faults = true
    await Promise.allSettled([collect(this.#faulty), collect(this.#faulty)])
    this.#faults = false
    await collect(this.database)
    this.recount.closeAt(this.now)
  }

  activity(): SiteActivity {
    const { name, database } = this.#options()
    const dimensions = { referrer: () => undefined, device: () => undefined }
    return new SiteActivity(
      activitySettings({
        ...GRID,
        name,
        database,
        dimensions,
        cache: this.#cache,
        logger: this.#log,
        timeZone: LATE_ZONE,
      }),
    )
  }

  /** A site's process, without the requests. */
  #writer(): RowRecorder<Visit> {
    return openRows<Visit>(
      {
        ...this.#options(),
        codec: visitCodec,
        commit: commitVisits,
        maxCommitRows: MAX_COMMIT_ROWS,
      },
      undefined,
      { kind: 'activity', tables: ['activity'] },
    )
  }

  #options() {
    return {
      ...GRID,
      name: this.name,
      cache: this.#cache,
      database: this.#faulty,
      logger: this.#log,
      closeTimeoutMs: 20_000,
    }
  }

  async #drain(): Promise<void> {
    const collector = this.activity()
    await collector.drain({ all: true })
    const { issued, committed, lost, dropped, quarantined } = await collector.ledger()
    assert.deepEqual([committed, lost, dropped, quarantined], [issued, 0, 0, 0])
    await collector.close()
  }
}

/** All totals, as they are in SQL. */
async function totalsOf({ database, name }: World): Promise<string> {
  const tables = ['activity_hours', 'activity_days', 'activity_day_values']
  const all: (readonly SqlRow[])[] = []
  for (const table of tables) {
    all.push((await database.query(`SELECT * FROM ${table} WHERE name = ?`, [name])).rows)
  }
  return JSON.stringify(all)
}

async function valuesOf({ database, name }: World, period: Period): Promise<Map<string, number>> {
  const { rows } = await database.query(
    `SELECT dimension, ${period} AS period, value, views FROM activity_${period}_values ` +
      'WHERE name = ?',
    [name],
  )
  return new Map(
    rows.map(({ dimension, period, value, views }) => [
      `${dimension} ${period} ${String(value)}`,
      Number(views),
    ]),
  )
}

/** Sums are a recount, as they are read and as they are in SQL. */
async function assertRecounted(world: World): Promise<void> {
  const { recount, days, now } = world
  // Another range each time, because answers are cached.
  const from = days.startOfDay(world.firstDay - world.checks++)
  const to = days.startOfDay(days.dayOf(now) + 1)
  const activity = world.activity()
  for (const by of ['hour', 'day'] as const) {
    assert.deepEqual(
      await activity.history({ from, to, by }),
      recount.history(by, from, to).map((period) => {
        const { start } = period
        const isKnown = Date.parse(start) >= recount.firstDay
        const unknown = { start, pageViews: null, visitors: null, bots: null }
        return isKnown ? { ...period, bots: 0 } : unknown
      }),
    )
    assert.deepEqual(await valuesOf(world, by), recount.values(by))
  }
  await assertCertified(world)
  const views = recount.history('day', from, to).reduce((sum, day) => sum + day.pageViews, 0)
  for (const dimension of ['page', 'referrer', 'device']) {
    const top = await activity.top(dimension, { from, to, n: 1_000 })
    // Of more values than are asked for, some are missing.
    if (top.length === 1_000) continue
    assert.equal(
      top.reduce((sum, { pageViews }) => sum + pageViews, 0),
      views,
    )
  }
  await activity.close()
  const { rows } = await world.database.query(
    'SELECT COALESCE(SUM(late), 0) AS late FROM activity_hours WHERE name = ?',
    [world.name],
  )
  assert.equal(Number(rows[0]!['late']), recount.late)
}

/** Each day's certificate has its figures, and balances, and its hours are those of the rows. */
async function assertCertified(world: World): Promise<void> {
  const { database, name, recount, days, firstDay, now } = world
  const all = recount.history('day', days.startOfDay(firstDay), now)
  for (const [index, { start, pageViews, visitors }] of all.entries()) {
    if (pageViews === 0 && index % 8 > 0) continue
    const day = firstDay + index
    const found = await readCertificate(database, name, day, 0)
    assert.deepEqual(
      [found.day, found.pageViews, found.visitors, found.findings],
      [start.slice(0, 10), pageViews, visitors, []],
    )
    const { from, to } = days.hoursOf(day)
    for (let hour = from; hour < to; hour++) {
      const differs = await recounted(database, name, hour)
      assert.equal(differs ?? '', '', `${start}, hour ${hour - from}`)
    }
  }
}

function wholeWay(pair: Pair): void {
  describe(`from record to sums, ${pair.name}`, () => {
    test('sums are a recount, through faults and closings; retention changes none', async () => {
      const site = await pair.open()
      const database = site.database()
      let faults = 0
      try {
        await fc.assert(
          fc.asyncProperty(rounds, fc.constantFrom(...STARTS), async (rounds, start) => {
            const world = new World(site, database, start)
            for (const round of rounds) {
              await world.run(round)
              await assertRecounted(world)
            }
            world.now += 3 * DAY_MS
            await world.removeOld(8)
            await assertRecounted(world)
            const before = await totalsOf(world)
            world.now += 30 * DAY_MS
            await world.removeOld(1)
            assert.equal(await totalsOf(world), before)
            const { rows } = await database.query(
              'SELECT (SELECT COUNT(*) FROM activities WHERE name = ?) + ' +
                '(SELECT COUNT(*) FROM activity_hour_values WHERE name = ?) + ' +
                '(SELECT COUNT(*) FROM activity_visitors WHERE name = ?) AS n',
              [world.name, world.name, world.name],
            )
            assert.equal(Number(rows[0]!['n']), 0)
            faults += world.faults
          }),
          { numRuns: RUNS[pair.name]! },
        )
        assert(faults > 0, 'there were faults')
      } finally {
        await site.close()
      }
    })
  })
}

for (const pair of PAIRS_OF_ANY_CACHE) wholeWay(pair)
