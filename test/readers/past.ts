/** Two weeks of page views and hits, made up so that hardly two figures of them are equal. */
import { packDimensions } from '../../src/activity/packed-dimensions.js'
import { removeOldVisits } from '../../src/activity/retention.js'
import type { Visit } from '../../src/activity/visit.js'
import type { Hit } from '../../src/hits/hit.js'
import { GlobalCounter } from '../../src/counters/global-counter.js'
import { ShardedCounter } from '../../src/counters/sharded-counter.js'
import { measureName, WITH_GONE } from '../../src/page-views/measures.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import { Random } from '../simulated-world/random.js'
import { Site } from './site.js'

const DAYS = 14
export const NOW = Date.UTC(2026, 4, 20, 12, 30)
/** Names of activities, of hits and of counters. */
export const ACTIVITIES = ['one', 'two'] as const
export const HITS = ['threads', 'posts'] as const
export const COUNTERS = ['ups', 'downs'] as const

/** A site with a past. Its days are closed, and what is old has been removed. */
export async function siteWithPast(): Promise<Site> {
  const site = new Site(NOW)
  await site.database.migrate()
  const random = new Random(1)
  for (const measure of WITH_GONE) {
    for (const name of ACTIVITIES) {
      await site.view(name, measure, visits(random))
      const context = { now: NOW, name: measureName(name, measure) }
      const retention = { rowsMs: DAY_MS, valuesDays: 8, vanishedSeconds: 3600 }
      while (await removeOldVisits(site.database, context, retention));
    }
    if (measure === 'gone') continue
    for (const name of HITS) await site.hit(name, measure, hits(random))
  }
  for (const [index, name] of ACTIVITIES.entries()) {
    for (let day = 10 + index; day < 20; day += 2) {
      await site.activity({ name }).note(`2026-05-${day}`, `Note ${day} of ${name}`)
    }
  }
  for (const name of HITS) {
    for (const count of ['served', 'seen'] as const) await site.hits({ name, count }).migrate()
  }
  for (const [index, name] of COUNTERS.entries()) {
    const ports = { name, database: site.database, cache: site.cache() }
    await site.opens(() => new ShardedCounter(ports)).increment(index + 1)
    await site.opens(() => new GlobalCounter({ ...ports, chanceToWrite: 1 })).increment(index + 5)
  }
  return site
}

function visits(random: Random): Visit[] {
  return timesOf(random).map((time) => ({
    time,
    visitor: Buffer.alloc(12, random.between(0, 20)),
    page: random.pick(['/a', '/b', '/c', '/d', '/e', '/a/1', '/a/2', '/b/1']),
    dimensions: packDimensions([
      'device',
      random.pick(['phone', 'tablet', 'desktop']),
      ...(random.chance(0.7) ? ['referrer', random.pick(['a.example', 'b.example'])] : []),
    ]),
  }))
}

function hits(random: Random): Hit[] {
  const items = ['a', 'b', 'c', 'd', 'e']
  return timesOf(random).map((time) => ({ time, viewer: null, item: random.pick(items) }))
}

/** Some moments of each hour, and more of the last minutes. */
function timesOf(random: Random): number[] {
  const times: number[] = []
  for (let hour = NOW - DAYS * DAY_MS; hour < NOW; hour += HOUR_MS) {
    for (let n = random.between(0, 5); n > 0; n--) times.push(hour + random.between(0, HOUR_MS - 1))
  }
  for (let n = random.between(10, 30); n > 0; n--) times.push(NOW - random.between(1, 900_000))
  return times.filter((time) => time < NOW)
}
