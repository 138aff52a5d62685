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
import { HOUR_MS } from '../../src/support/clock.js'
import { SILENT } from '../../src/support/logger.js'
import type { LedgerReport } from '../../src/wide-cache/ledger/report.js'
import { MeteredSite, type Trouble } from '../simulated-world/metered-site.js'
import { Random } from '../simulated-world/random.js'
import { EPOCH } from '../simulated-world/world.js'

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

/** Longer than a run: so the figures count all visits before their end. */
const WINDOW_SECONDS = 3_600

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
  readonly #random: Random
  readonly #processes: readonly Process[]
  /** When each visit was recorded, in ascending order. */
  readonly #recorded: number[] = []
  readonly #troubles: { readonly from: number; readonly to: number }[] = []
  /** Increments that have begun, and those that are committed. */
  readonly #added = { sharded: { begun: 0, done: 0 }, global: { begun: 0, done: 0 } }
  /** No collector runs by itself. Then drains are up to a minute apart. */
  readonly #drainsByHand: boolean
  #looks = 0
  #wrong: string | undefined

  constructor(seed: number) {
    this.site = new MeteredSite(seed)
    this.site.longestCacheMs = 20
    this.site.longestSqlMs = 20
    this.#random = new Random(~seed)
    this.#drainsByHand = this.#random.chance(0.3)
    this.#processes = ['one', 'another'].map((name) => this.#open(name))
  }

  async run(): Promise<number> {
    this.#again(FAULTY_MS, 300, () => this.#record())
    this.#again(FAULTY_MS, LONGEST_REST_MS, () => this.#disturb())
    if (this.#drainsByHand) this.#again(Infinity, LONGEST_REST_MS, () => this.#drain())
    await this.#step(FAULTY_MS + LONGEST_TROUBLE_MS + HEALED_MS)
    this.#end()
    return this.#looks
  }

  #open(name: string): Process {
    const { environment, ...ports } = this.site.process(name)
    const options = { ...ports, logger: SILENT, ...(this.#drainsByHand && NO_COLLECTOR) }
    const settings = activitySettings({ ...options, windowSeconds: WINDOW_SECONDS })
    return {
      activity: new SiteActivity(settings, environment),
      hits: new ItemHits(hitsSettings({ name: 'items', ...options }), environment),
      sharded: new ShardedCounterIn({ name: 'sharded', ...ports }, environment),
      global: new GlobalCounterIn({ name: 'global', ...ports }, environment),
      shown: new Map(),
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
    const process = this.#random.pick(this.#processes)
    this.#recorded.push(this.#now)
    process.activity.record({ visitor: this.#random.between(1, 5), page: '/' })
    process.hits.record(ITEM)
    for (const kind of ['sharded', 'global'] as const) {
      const added = this.#added[kind]
      added.begun++
      process[kind].increment().then(
        () => added.done++,
        () => undefined,
      )
    }
  }

  #disturb(): void {
    if (this.site.trouble !== 'none') return
    this.site.trouble = this.#random.pick(TROUBLES)
    const ms = this.#random.between(100, LONGEST_TROUBLE_MS)
    this.#troubles.push({ from: this.#now, to: this.#now + ms })
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
    const day = { from: EPOCH, to: EPOCH + HOUR_MS, by: 'hour' } as const
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
      history: activity.history(day).then((periods) => {
        const views = periods.reduce((sum, { pageViews }) => sum + (pageViews ?? 0), 0)
        this.#rises(shown, 'history', views)
        assert(views <= this.#recorded.length, `history has ${views}`)
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
    return EPOCH + this.site.world.now
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
    for (const { shown } of this.#processes) {
      assert.equal(shown.get('page views'), length)
      assert.equal(shown.get('history'), length)
      assert.equal(shown.get('hits'), length)
      assert.equal(shown.get('ledger committed'), length)
      assert.equal(shown.get('ledger issued'), length)
    }
  }
}
