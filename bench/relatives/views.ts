/**
 * `Hits` beside `UPDATE items SET views = views + 1`: views of hot items, until their counts are in
 * SQL. A caller of `record` does not wait; it gives way to the others after each view, as requests
 * do.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { createHits, type Database, type HitParties, type Hits } from '../../src/index.js'
import type { Bench } from '../harness/part.js'
import { start } from '../peers/update-per-view.js'
import { adding, CONNECTIONS, type Contender, type Race } from './race.js'
import { more } from '../harness/samples.js'
import { sum } from '../harness/statistics.js'

const ITEMS = 100
/**
 * Views that are brought to SQL at one time: those of ten seconds, the period of collectors, at 300
 * a second.
 */
const VIEWS_A_DRAIN = 3_000

export async function views(
  bench: Bench,
  database: Database,
  mysqlUrl: string,
  memcachedAddress: string,
): Promise<Race> {
  const baseline = await start({ mysqlUrl, connections: CONNECTIONS, items: ITEMS })
  const [plain, viewers] = (['plain', 'viewers'] as const).map((name) =>
    createHits({ name, database, cache: `memcached://${memcachedAddress}`, collect: false }),
  ) as [Hits, Hits]
  bench.after(() => Promise.all([baseline.close(), plain.close(), viewers.close()]))
  let viewer = 0
  return {
    name: 'Hits',
    metric: more('views/s'),
    contenders: [
      adding('UPDATE per view', () => baseline.view(hotItem()), baseline.total),
      hits('Hits, any view counts', plain, () => ({})),
      hits('Hits, every view by another viewer', viewers, () => ({ viewer: `viewer ${viewer++}` })),
    ],
  }
}

function hits(name: string, hits: Hits, parties: () => HitParties): Contender {
  const items = Array.from({ length: ITEMS }, (_, item) => String(item))
  const total = async (): Promise<number> => sum([...(await hits.counts(items)).values()])
  return {
    name,
    async run(callers, ms) {
      const before = await total()
      const began = performance.now()
      const latencies: number[] = []
      await Promise.all(
        Array.from({ length: callers }, async () => {
          while (performance.now() - began < ms && latencies.length < VIEWS_A_DRAIN) {
            const called = performance.now()
            hits.record(String(hotItem()), parties())
            latencies.push(performance.now() - called)
            await turn()
          }
        }),
      )
      await hits.flush()
      await hits.drain({ all: true })
      const seconds = (performance.now() - began) / 1000
      const counted = (await total()) - before
      const views = latencies.length
      if (counted !== views) throw new Error(`${name}: ${views} views have come to ${counted}`)
      return { rate: views / seconds, latencies }
    },
  }
}

/** A few items are looked at by nearly everybody. */
function hotItem(): number {
  return Math.floor(Math.random() ** 3 * ITEMS)
}
