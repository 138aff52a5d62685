/**
 * As much as a site can do, with each contender: requests a second, CPU a request, and latency
 * under that load. All are doors of the same processes, one busy at a time: two processes of the
 * same program differ by a tenth.
 */
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Bench, Metric } from '../harness/part.js'
import { quantile } from '../harness/statistics.js'
import { saturate, shuffled } from './load.js'
import { type Door, Site } from './site.js'

export interface Contender {
  /** The name of a file in `bench/peers/`. */
  readonly peer: string
  readonly label: string
  /**
   * Each visit it was told of is to be found in SQL; the others only remember how often they tried.
   */
  readonly keepsAll: boolean
}

export const NOTHING: Contender = { peer: 'nothing', label: '(a) no middleware', keepsAll: false }
export const EMPTY_HOOK: Contender = {
  peer: 'empty-hook',
  label: '(b) empty `finish` hook',
  keepsAll: false,
}
/** What two of a kind differ by is noise. */
const EMPTY_TWIN: Contender = {
  peer: 'empty-hook',
  label: '(b) a second such hook',
  keepsAll: false,
}
export const WIDE_CACHE: Contender = { peer: 'wide-cache', label: '(c) wide-cache', keepsAll: true }
export const INSERT: Contender = {
  peer: 'insert-per-visit',
  label: '(d) one INSERT a visit',
  keepsAll: true,
}
export const ORIGINAL: Contender = {
  peer: 'original',
  label: '(e) get + set of an array',
  keepsAll: false,
}
export const APPEND: Contender = {
  peer: 'append-per-visit',
  label: '(f) one append a visit',
  keepsAll: false,
}
export const REDIS: Contender = {
  peer: 'redis-list',
  label: '(g) RPUSH to a Redis list',
  keepsAll: true,
}
export const BUFFER: Contender = {
  peer: 'buffer',
  label: '(h) 10 s in the process',
  keepsAll: true,
}
export const CONTENDERS = [
  NOTHING,
  EMPTY_HOOK,
  EMPTY_TWIN,
  WIDE_CACHE,
  INSERT,
  ORIGINAL,
  APPEND,
  REDIS,
  BUFFER,
]

export const RATE: Metric = { metric: 'requests/s', better: 'more' }
/** Of the site's processes until the last answer. */
export const CPU: Metric = { metric: 'CPU µs/request', better: 'less' }
/**
 * And until what was counted is in SQL; here the site's process is also the collector, or the
 * list's worker.
 */
export const CPU_WHOLE: Metric = {
  metric: 'CPU µs/request, with the work after it',
  better: 'less',
}
export const P50: Metric = { metric: 'p50 ms', better: 'less' }
export const P99: Metric = { metric: 'p99 ms', better: 'less' }

export const CONNECTIONS = 50

export interface Page {
  readonly name: string
  readonly path: string
  /** Its share of the warm-up. */
  readonly warmUp: number
  readonly rounds: number
  readonly seconds: number
}

/**
 * Runs all contenders, in rounds, on each of the pages. Their samples' setting is
 * `page.name, name`.
 */
export async function throughput(
  bench: Bench,
  mariadb: MariaDb,
  {
    name,
    processes,
    renderings,
    warmUpSeconds,
    pages,
  }: {
    name: string
    processes: number
    renderings: number
    warmUpSeconds: number
    pages: readonly Page[]
  },
): Promise<void> {
  bench.progress(`${name}: starting`)
  // New ones: nothing that the sites before have left counts here.
  const [memcached, redis] = await Promise.all([bench.memcached(), bench.redis()])
  const contenders = await Promise.all(
    CONTENDERS.map(async ({ peer }, at) => {
      const database = `overhead_${at}_${processes}`
      await mariadb.createDatabase(database)
      return { peer, mysqlUrl: mariadb.url(database) }
    }),
  )
  const site = await Site.start(
    { contenders, processes, renderings, memcached: memcached.address, redisUrl: redis.url },
    bench.after,
  )
  const doorOf = (contender: Contender): Door => site.doors[CONTENDERS.indexOf(contender)]!

  // The first page is the one whose requests are so short that what the compiler does shows in
  // them.
  for (const { path, warmUp } of pages) {
    for (const contender of CONTENDERS) {
      bench.progress(`${name}: warming up ${contender.peer}`)
      await load(site, doorOf(contender), path, warmUpSeconds * warmUp)
    }
  }
  for (const page of pages) {
    for (let round = 0; round < page.rounds; round++) {
      for (const contender of shuffled(CONTENDERS)) {
        bench.progress(
          `${page.name}, ${name}: round ${round + 1} of ${page.rounds}, ${contender.peer}`,
        )
        const shown = await load(site, doorOf(contender), page.path, page.seconds)
        for (const [metric, value] of shown) {
          bench.samples.add(contender.label, `${page.name}, ${name}`, metric, value)
        }
      }
    }
  }
  for (const contender of CONTENDERS) if (contender.keepsAll) await doorOf(contender).check()
  await site.stop()
}

async function load(
  site: Site,
  door: Door,
  path: string,
  seconds: number,
): Promise<readonly (readonly [Metric, number])[]> {
  const before = await site.cpu()
  const load = await saturate(door.port, path, CONNECTIONS, seconds)
  const cpu = await site.cpu()
  // What is left to do is not to burden the contender that comes next.
  await door.settle()
  const whole = await site.cpu()
  const served = load.latencies.length
  door.served += served
  return [
    [RATE, served / load.seconds],
    [CPU, (cpu - before) / served],
    [CPU_WHOLE, (whole - before) / served],
    [P50, quantile(load.latencies, 0.5)],
    [P99, quantile(load.latencies, 0.99)],
  ]
}
