/**
 * A site in simulated time, at which somebody looks after each small drawn step. Most tests look
 * when all has settled. A figure that is wrong for a second, until the next tick repairs it, shows
 * only in between.
 */
import assert from 'node:assert/strict'
import { activitySettings } from '../../src/activity/options.js'
import { SiteActivity } from '../../src/activity/site-activity.js'
import { GlobalCounterIn } from '../../src/counters/global-counter.js'
import { ShardedCounterIn } from '../../src/counters/sharded-counter.js'
import { ItemHits } from '../../src/hits/item-hits.js'
import { hitsSettings } from '../../src/hits/options.js'
import type { Calendar } from '../../src/support/calendar.js'
import { dayText } from '../../src/support/calendar-days.js'
import { SILENT } from '../../src/support/logger.js'
import { calendarOf, timeZoneOption } from '../../src/support/time-zone.js'
import type { LedgerReport } from '../../src/wide-cache/ledger/report.js'
import { MeteredSite, type Trouble } from '../simulated-world/metered-site.js'
import { Random } from '../simulated-world/random.js'

/** Time with visits and troubles, and the time after it in which all comes to SQL. */
const FAULTY_MS = 240_000
const HEALED_MS = 150_000
const LONGEST_STEP_MS = 900
const LONGEST_TROUBLE_MS = 40_000
const LONGEST_REST_MS = 60_000
const TROUBLES: readonly Trouble[] = ['cache away', 'SQL away', 'locked']
/** Times before a trouble in which it meets a visit, and after it until all has come. */
const IN_FLIGHT_MS = 10_000
const BROUGHT_WITHIN_MS = 30_000
/** The age of figures of a healthy site: two layers, a run, and the time that they are shown. */
const FRESH_MS = 10_000
const ITEM = 'item'

/**
 * Ends of days of some zones: those on which their clocks are set, two minutes before them. In
 * Santiago they are set at midnight.
 */
const EVENINGS = [
  ['Europe/Berlin', '2026-03-29T21:58Z'],
  ['Europe/Berlin', '2026-10-25T22:58Z'],
  ['Asia/Kolkata', '2026-03-29T18:28Z'],
  ['America/Santiago', '2026-04-05T03:58Z'],
  ['America/Santiago', '2026-09-06T03:58Z'],
  ['Antarctica/Troll', '2026-03-29T21:58Z'],
] as const
const BEFORE_MIDNIGHT_MS = 120_000
/** Item that few viewers look at, and the window in which each counts once. */
const VIEWED = 'viewed'
const VIEWERS = 3
const REPEAT_SECONDS = 77

/** Longer than a run: so the figures count all visits before their end. */
const WINDOW_SECONDS = 3_600

/** Time in which the first process decides about the days, undisturbed. */
const DECIDES_MS = 10_000
const OTHER_ZONE = 'Asia/Tokyo'
/** Time around the start of a day in which viewers may be taken for others if a server is away. */
const NEW_SALT_MS = 15_000

const NO_COLLECTOR = { collect: false } as const

/** Fields of a ledger that may fall. */
const MAY_FALL = new Set(['outstanding', 'owed'])

interface Process {
  readonly activity: SiteActivity
  readonly hits: ItemHits
  readonly sharded: ShardedCounterIn
  readonly global: GlobalCounterIn
  /** The greatest that it has shown of each figure that never falls. */
  readonly shown: Map<string, number>
  /** The page views of each day, as it has last shown them. */
  days: readonly (readonly [day: string, pageViews: number | null])[]
}

interface Viewing {
  readonly at: number
  readonly viewer: number
}

/** Returns the number of looks that were answered. @throws what a look has shown that is wrong */
export async function lookedAt(seed: number): Promise<number> {
  const run = new LookedAt(seed)
  try {
    return await run.run()
  } finally {
    run.site.close()
  }
}

class LookedAt {
  readonly site: MeteredSite
  readonly #days: Calendar
  readonly #random: Random
  readonly #processes: readonly Process[]
  /** When each visit was recorded, in ascending order. */
  readonly #recorded: number[] = []
  readonly #viewings: Viewing[] = []
  readonly #troubles: { readonly from: number; readonly to: number }[] = []
  /** Increments that have begun, and those that are committed. */
  readonly #added = { sharded: { begun: 0, done: 0 }, global: { begun: 0, done: 0 } }
  /** No collector runs by itself. Then drains are up to a minute apart. */
  readonly #drainsByHand: boolean
  /** No trouble meets the beginning of the second day, when viewers get another salt. */
  readonly #isCalmAtMidnight: boolean
  #looks = 0
  #wrong: string | undefined

  constructor(seed: number) {
    const [zone, evening] = EVENINGS[seed % EVENINGS.length]!
    this.#days = calendarOf(timeZoneOption(zone))
    this.site = new MeteredSite(seed, Date.parse(evening))
    this.site.longestCacheMs = 20
    this.site.longestSqlMs = 20
    this.#random = new Random(~seed)
    this.#drainsByHand = this.#random.chance(0.3)
    this.#isCalmAtMidnight = seed % 2 === 0
    this.#processes = [this.#open('one', zone), this.#open('another', OTHER_ZONE)]
  }

  async run(): Promise<number> {
    this.#again(FAULTY_MS, 300, () => this.#record())
    this.#again(FAULTY_MS, LONGEST_REST_MS, () => this.#disturb())
    if (this.#drainsByHand) this.#again(Infinity, LONGEST_REST_MS, () => this.#drain())
    await this.#step(FAULTY_MS + LONGEST_TROUBLE_MS + HEALED_MS)
    this.#end()
    return this.#looks
  }

  #open(name: string, timeZone: string): Process {
    const { environment, ...ports } = this.site.process(name)
    const collecting = this.#drainsByHand && NO_COLLECTOR
    const options = { ...ports, logger: SILENT, timeZone, ...collecting }
    const repeat = { repeatSeconds: REPEAT_SECONDS }
    const settings = activitySettings({ ...options, windowSeconds: WINDOW_SECONDS })
    return {
      activity: new SiteActivity(settings, environment),
      hits: new ItemHits(hitsSettings({ name: 'items', ...options, ...repeat }), environment),
      sharded: new ShardedCounterIn({ name: 'sharded', ...ports }, environment),
      global: new GlobalCounterIn({ name: 'global', ...ports }, environment),
      shown: new Map(),
      days: [],
    }
  }

  /** Does `work` at drawn moments, for `untilMs`. */
  #again(untilMs: number, longestMs: number, work: () => void): void {
    const { world } = this.site
    world.after(this.#random.between(1, longestMs), () => {
      if (world.now >= untilMs) return
      work()
      this.#again(untilMs, longestMs, work)
    })
  }

  #record(): void {
    const any = this.#random.pick(this.#processes)
    const process = this.#isDecided ? any : this.#processes[0]!
    this.#recorded.push(this.#now)
    this.#viewings.push({ at: this.#now, viewer: this.#random.between(1, VIEWERS) })
    // The other one may have the salts of its own days for two minutes.
    this.#processes[0]!.hits.record(VIEWED, { viewer: this.#viewings.at(-1)!.viewer })
    process.activity.record({ visitor: this.#random.between(1, 5), page: '/' })
    process.hits.record(ITEM)
    for (const kind of ['sharded', 'global'] as const) {
      const added = this.#added[kind]
      added.begun++
      any[kind].increment().then(
        () => added.done++,
        () => undefined,
      )
    }
  }

  #disturb(): void {
    if (this.site.trouble !== 'none' || !this.#isDecided) return
    const ms = this.#random.between(100, LONGEST_TROUBLE_MS)
    const trouble = { from: this.#now, to: this.#now + ms }
    if (this.#isCalmAtMidnight && this.#meetsMidnight(trouble)) return
    this.site.trouble = this.#random.pick(TROUBLES)
    this.#troubles.push(trouble)
    this.site.world.after(ms, () => (this.site.trouble = 'none'))
  }

  #drain(): void {
    const { activity, hits } = this.#random.pick(this.#processes)
    for (const one of [activity, hits]) void one.drain().catch(() => undefined)
  }

  async #step(ms: number): Promise<void> {
    const until = this.site.world.now + ms
    while (this.site.world.now < until) {
      await this.site.world.pass(this.#random.between(1, LONGEST_STEP_MS))
      if (this.#wrong !== undefined) assert.fail(this.#wrong)
      this.#look(this.#random.pick(this.#processes))
    }
  }

  #look(process: Process): void {
    const { activity, hits, shown } = process
    const from = this.site.world.epoch
    const range = { from, to: from + FAULTY_MS }
    const answers: Record<string, Promise<void>> = {
      stats: activity.stats().then((stats) => {
        const end = Math.floor(Date.parse(stats.asOf) / 1000) * 1000
        const { lower, upper, stale } = stats
        const most = this.#before(end).length
        const least = this.#before(end).filter((at) => this.#isDue(at)).length
        assert(lower <= most, `lower is ${lower}, of ${most} up to ${stats.asOf}`)
        assert(stale || upper >= least, `upper is ${upper}, of ${least} up to ${stats.asOf}`)
        const isOld = stale || this.#now - end > FRESH_MS
        assert(!isOld || !this.#mustBeFresh, `figures end at ${stats.asOf}, stale: ${stale}`)
        shown.set('page views', stats.pageViews)
      }),
      history: activity.history({ ...range, by: 'hour' }).then((periods) => {
        const views = periods.reduce((sum, { pageViews }) => sum + (pageViews ?? 0), 0)
        this.#rises(shown, 'history', views)
        assert(views <= this.#recorded.length, `history has ${views}`)
      }),
      days: activity.history({ ...range, by: 'day' }).then((periods) => {
        process.days = periods.map(({ start, pageViews }) => [start.slice(0, 10), pageViews])
      }),
      certificate: activity.certificate(dayText(this.#days.dayOf(this.#now))).then((found) => {
        assert.deepEqual(found.findings, [], found.day)
      }),
      viewed: hits.count(VIEWED).then((count) => {
        this.#rises(shown, 'viewed', count)
        assert(count <= this.#viewings.length, `hits with viewers are ${count}`)
      }),
      hits: hits.count(ITEM).then((count) => {
        this.#rises(shown, 'hits', count)
        assert(count <= this.#recorded.length, `hits are ${count}`)
        const least = this.#mustBeFresh ? this.#before(this.#now - FRESH_MS).length : 0
        assert(count >= least, `hits are ${count}, of ${least} long ago`)
      }),
      sharded: this.#counted('sharded', () => process.sharded.get({ exact: true })),
      global: this.#counted('global', () => process.global.get()),
      ledger: activity.ledger().then((ledger) => this.#checkLedger(shown, ledger)),
    }
    for (const [what, answer] of Object.entries(answers)) {
      answer.then(
        () => void this.#looks++,
        (error: unknown) => {
          if (error instanceof assert.AssertionError) this.#wrong ??= `${what}: ${error.message}`
        },
      )
    }
  }

  async #counted(kind: 'sharded' | 'global', get: () => Promise<number>): Promise<void> {
    const { done } = this.#added[kind]
    const count = await get()
    const { begun } = this.#added[kind]
    assert(count >= done && count <= begun, `${count}, of ${done} to ${begun} increments`)
  }

  #checkLedger(shown: Map<string, number>, ledger: LedgerReport): void {
    const { issued, committed, quarantined, dropped, outstanding, owed, lost } = ledger
    assert.equal(issued, committed + quarantined + dropped + outstanding + owed + lost)
    assert(outstanding >= 0 && issued <= this.#recorded.length, JSON.stringify(ledger))
    for (const [field, rows] of Object.entries(ledger)) {
      if (!MAY_FALL.has(field)) this.#rises(shown, `ledger ${field}`, rows as number)
    }
  }

  #rises(shown: Map<string, number>, figure: string, now: number): void {
    const before = shown.get(figure) ?? -Infinity
    assert(now >= before, `${figure} falls from ${before} to ${now}`)
    shown.set(figure, now)
  }

  get #now(): number {
    return this.site.world.epoch + this.site.world.now
  }

  get #isDecided(): boolean {
    return this.site.world.now > DECIDES_MS
  }

  /** Views of different viewers in windows, which are counted from the start of a day. */
  get #different(): number {
    const windows = this.#viewings.map(({ at, viewer }) => {
      const day = this.#days.startOfDay(this.#days.dayOf(at))
      return `${viewer} ${day} ${Math.floor((at - day) / 1000 / REPEAT_SECONDS)}`
    })
    return new Set(windows).size
  }

  #meetsMidnight({ from, to }: { readonly from: number; readonly to: number }): boolean {
    const midnight = this.site.world.epoch + BEFORE_MIDNIGHT_MS
    return from < midnight + NEW_SALT_MS && to > midnight - NEW_SALT_MS
  }

  /** Visits before `end`. */
  #before(end: number): number[] {
    return this.#recorded.filter((at) => at < end)
  }

  /** SQL does not know what a process holds while neither cache nor SQL takes it. */
  #isDue(recorded: number): boolean {
    return !this.#troubles.some(
      ({ from, to }) =>
        recorded >= from - IN_FLIGHT_MS && recorded <= to && this.#now < to + BROUGHT_WITHIN_MS,
    )
  }

  get #mustBeFresh(): boolean {
    return (
      !this.#drainsByHand && this.#troubles.every(({ to }) => this.#now >= to + BROUGHT_WITHIN_MS)
    )
  }

  /** All has come, once. */
  #end(): void {
    const { length } = this.#recorded
    const ofDays = new Map<string, number>()
    for (const at of this.#recorded) {
      const day = dayText(this.#days.dayOf(at))
      ofDays.set(day, (ofDays.get(day) ?? 0) + 1)
    }
    assert.equal(ofDays.size, 2)
    for (const { shown, days } of this.#processes) {
      assert.deepEqual(days, [...ofDays])
      const viewed = shown.get('viewed')!
      if (this.#isCalmAtMidnight) assert.equal(viewed, this.#different)
      else assert(viewed >= this.#different)
      assert.equal(shown.get('page views'), length)
      assert.equal(shown.get('history'), length)
      assert.equal(shown.get('hits'), length)
      assert.equal(shown.get('ledger committed'), length)
      assert.equal(shown.get('ledger issued'), length)
    }
  }
}
