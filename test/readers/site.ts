/**
 * A site in one database, whose clock stands where it is put: page views and hits of all measures,
 * committed as the ledger does, and the objects that read them.
 */
import { SiteActivity } from '../../src/activity/site-activity.js'
import { type ActivityOptions, activitySettings } from '../../src/activity/options.js'
import type { Visit } from '../../src/activity/visit.js'
import type { Cache } from '../../src/cache/cache.js'
import { memory } from '../../src/cache/memory.js'
import type { Database } from '../../src/database/database.js'
import { hitsCommit } from '../../src/hits/commit.js'
import type { Hit } from '../../src/hits/hit.js'
import { ItemHits } from '../../src/hits/item-hits.js'
import { type HitsOptions, hitsSettings } from '../../src/hits/options.js'
import { openDatabase } from '../../src/database/open.js'
import { type Measure, measureName } from '../../src/page-views/measures.js'
import { type Environment, systemEnvironment } from '../../src/support/environment.js'
import { SILENT } from '../../src/support/logger.js'
import { ManualClock } from '../../src/support/manual-clock.fixture.js'
import { commit } from '../orders/activity.js'
import { wrappedDatabase } from '../servers/wrapped.js'
import { FaultyCache } from '../simulated-world/faulty-cache.js'

export class Site {
  /** Milliseconds by which the clocks of processes are ahead of it. */
  aheadMs = 0
  /** Milliseconds since the Unix epoch, of the database and of objects opened from now on. */
  now: number
  readonly database: Database
  readonly #opened: { readonly clock: ManualClock; one: { close(): Promise<unknown> } }[] = []

  constructor(now: number) {
    this.now = now
    const { database } = openDatabase('sqlite::memory:')
    // What a statement does not order comes from the last to the first, as any order is allowed.
    void database.query('PRAGMA reverse_unordered_selects = ON')
    const clock = { now: async () => this.now }
    this.database = wrappedDatabase(database, clock, () => clock)
  }

  async view(name: string, measure: Measure, visits: readonly Visit[]): Promise<void> {
    await commit(this, visits, this.now, measureName(name, measure))
  }

  async hit(name: string, measure: Measure, hits: Hit[]): Promise<void> {
    const settings = hitsSettings({ name, logger: SILENT })
    const gridName = measureName(settings.gridName, measure)
    const own = { ...settings, name: measureName(name, measure), gridName }
    const context = { now: this.now, name: gridName }
    await this.database.transaction((tx) => hitsCommit(own)(hits, tx, context))
  }

  activity(options: ActivityOptions = {}, cache = this.cache()): SiteActivity {
    const { database } = this
    const settings = activitySettings({
      database,
      cache,
      collect: false,
      logger: SILENT,
      dimensions: DIMENSIONS,
      ...options,
    })
    return this.opens((environment) => new SiteActivity(settings, environment))
  }

  hits(options: HitsOptions, cache = this.cache()): ItemHits {
    const { database } = this
    const settings = hitsSettings({ database, cache, collect: false, logger: SILENT, ...options })
    return this.opens((environment) => new ItemHits(settings, environment))
  }

  /** A cache that all processes share. */
  cache(): Cache {
    return new FaultyCache(memory({ now: () => this.now }), () => 'none', 'shared')
  }

  /** Closes all that has been opened, whose clocks go on meanwhile. */
  async close(): Promise<void> {
    for (const { clock, one } of this.#opened.splice(0)) {
      let isClosed = false
      const closed = one.close().finally(() => (isClosed = true))
      while (!isClosed) await clock.advance(100)
      await closed
    }
    await this.database.close()
  }

  /** Time passes for the database and for all objects. */
  async passes(ms: number): Promise<void> {
    this.now += ms
    await Promise.all(this.#opened.map(({ clock }) => clock.advance(ms)))
  }

  /** Makes an object of the site, which is closed with it. */
  opens<T extends { close(): Promise<unknown> }>(make: (environment: Environment) => T): T {
    const clock = new ManualClock(this.now + this.aheadMs)
    const one = make({ ...systemEnvironment, clock })
    this.#opened.push({ clock, one })
    return one
  }
}

/** Dimensions beside the page. */
export const DIMENSIONS = { device: () => undefined, referrer: () => undefined }
