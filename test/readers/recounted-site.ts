/** A site that counts page views and hits of all measures, beside the recount of each. */
import assert from 'node:assert/strict'
import { Folding } from '../../src/activity/folding.js'
import { removeValue } from '../../src/activity/remove-value.js'
import { sliceOf } from '../../src/activity/sums.js'
import { type Removed, removeOldVisits } from '../../src/activity/retention.js'
import type { Visit } from '../../src/activity/visit.js'
import type { SqlValue } from '../../src/database/database.js'
import type { Hit } from '../../src/hits/hit.js'
import { removeHours } from '../../src/hits/history.js'
import { removeOldHits } from '../../src/hits/retention.js'
import { MEASURES, type Measure, measureName } from '../../src/page-views/measures.js'
import { HOUR_MS } from '../../src/support/clock.js'
import { enterName } from '../../src/wide-cache/ledger/name-settings.js'
import { HitsRecount } from './hits-recount.js'
import type { Site } from './site.js'
import { HISTORY_DAYS, VANISHED_SECONDS, ViewsRecount } from './views-recount.js'
import { UTC } from '../../src/support/calendar.js'

/** What happens to a site. */
export type Step =
  | { readonly hours: number }
  | { readonly measure: Measure; readonly visits: readonly (Visit & { ago: number })[] }
  | { readonly measure: Measure; readonly hits: readonly (Hit & { ago: number })[] }
  | { readonly collects: Measure; readonly keepHours: number }
  | { readonly measure: Measure; readonly dimension: string; readonly removed: string }
  | { readonly item: string; readonly to: string | undefined }

export class RecountedSite {
  readonly views = recounts(() => new ViewsRecount())
  readonly hits = recounts(() => new HitsRecount())
  readonly #site: Site
  readonly #name: string
  /** What the collector of each measure remembers. */
  readonly #removed = recounts((): Removed => ({}))

  /** @param name that of its activity and of its hits */
  constructor(site: Site, name: string) {
    this.#site = site
    this.#name = name
  }

  /** Enters the names of its hits, as processes that record all measures do. */
  async enter(): Promise<void> {
    const { database } = this.#site
    await database.migrate()
    for (const measure of MEASURES) {
      const name = measureName(`hits.${this.#name}`, measure)
      const seconds = { cellTtlSeconds: 3600, directSeconds: 75, vanishedSeconds: 3600 }
      await enterName(database, { name, kind: 'hits', ...seconds, nameSettings: {} })
    }
  }

  async take(step: Step): Promise<void> {
    const site = this.#site
    const { now, database } = site
    const name = this.#name
    if ('hours' in step) site.now += step.hours * HOUR_MS
    else if ('visits' in step) {
      const visits = step.visits.map(({ ago, ...visit }) => ({ ...visit, time: now - ago }))
      if (visits.length === 0) return
      await site.view(name, step.measure, visits)
      this.views[step.measure].add(visits, now)
    } else if ('hits' in step) {
      const hits = step.hits.map(({ ago, ...hit }) => ({ ...hit, time: now - ago }))
      await site.hit(name, step.measure, hits)
      this.hits[step.measure].add(hits, now)
    } else if ('collects' in step) {
      this.views[step.collects].collect(now)
      await this.#collect(step.collects, step.keepHours)
    } else if ('removed' in step) {
      const { measure, dimension, removed } = step
      // The command refuses a name without views.
      if (this.views[measure].all === 0) return
      const fullName = measureName(name, measure)
      await removeValue(database, fullName, dimension, removed)
      await this.#assertNone('activities WHERE name = ? AND page = ?', [fullName, removed])
      this.views[measure].removeValue(dimension, removed)
    } else {
      const hits = site.hits({ name })
      if (step.to === undefined) await hits.delete(step.item)
      else await hits.rename(step.item, step.to)
      await hits.drain()
      for (const measure of MEASURES) this.hits[measure].move(step.item, step.to)
    }
  }

  /** Folds, closes and removes as the collector of one measure does. */
  async #collect(measure: Measure, keepHours: number): Promise<void> {
    const { now, database } = this.#site
    const name = measureName(this.#name, measure)
    await new Folding(name).run(database)
    const retention = {
      rowsMs: keepHours * HOUR_MS,
      valuesDays: HISTORY_DAYS,
      vanishedSeconds: VANISHED_SECONDS,
      removed: this.#removed[measure],
    }
    while (await removeOldVisits(database, { now, name }, retention));
    while (await removeHours(database, name, now, UTC));
    const viewingsFrom = now - 48 * HOUR_MS
    while (await removeOldHits(database, name, viewingsFrom));
    await this.#assertNone('hits_viewings WHERE name = ? AND window_start < ?', [
      name,
      viewingsFrom,
    ])
    const rowsFrom = now - retention.rowsMs
    await this.#assertNone('activities WHERE name = ? AND created_at < ?', [name, rowsFrom])
    const second = Math.floor(rowsFrom / 1000)
    await this.#assertNone('activity_seconds WHERE name = ? AND second < ?', [name, second])
    const slice = sliceOf(Math.min(second, this.views[measure].openFrom / 1000))
    await this.#assertNone('activity_visitors WHERE name = ? AND last_slice < ?', [name, slice])
  }

  /** What is to be removed is gone. */
  async #assertNone(where: string, values: readonly SqlValue[]): Promise<void> {
    const { rows } = await this.#site.database.query(`SELECT COUNT(*) AS n FROM ${where}`, values)
    assert.equal(Number(rows[0]?.['n']), 0, where)
  }
}

function recounts<T>(make: () => T): Readonly<Record<Measure, T>> {
  return { served: make(), seen: make(), bots: make(), gone: make() }
}
