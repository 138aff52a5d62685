/**
 * Costs of a request with each contender: CPU, requests a second as fast as the site can, and
 * latency under that load. All contenders are apps of one process, and only one receives load at a
 * time: two processes of the same program differ by a tenth.
 */
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Cores } from '../harness/cores.js'
import type { Bench, Metric } from '../harness/part.js'
import { quantile } from '../harness/statistics.js'
import { Crowd, shuffled } from './load.js'
import { type App, Site } from './site.js'

export interface Contender {
  /** The name of a file in `bench/peers/`. */
  readonly peer: string
  readonly label: string
  /**
   * The unit of its count, which must come out exactly: each request in SQL, each request in its
   * own file or memory, or each visitor. Those without one only remember how often they tried.
   */
  readonly counts?: 'requests in SQL' | 'requests' | 'visitors'
}

export const NOTHING: Contender = { peer: 'nothing', label: '(a) no middleware' }
export const EMPTY_HOOK: Contender = { peer: 'empty-hook', label: '(b) empty `finish` hook' }
/** The same hook again: the difference between the two is noise. */
const EMPTY_TWIN: Contender = { peer: 'empty-hook', label: '(b) a second such hook' }
export const WIDE_CACHE: Contender = {
  peer: 'wide-cache',
  label: '(c) wide-cache',
  counts: 'requests in SQL',
}
export const INSERT: Contender = {
  peer: 'insert-per-visit',
  label: '(d) one INSERT a visit',
  counts: 'requests in SQL',
}
export const GET_AND_SET: Contender = { peer: 'get-and-set', label: '(e) get + set of an array' }
export const APPEND: Contender = { peer: 'append-per-visit', label: '(f) one append a visit' }
export const REDIS: Contender = {
  peer: 'redis-list',
  label: '(g) RPUSH to a Redis list',
  counts: 'requests in SQL',
}
export const BUFFER: Contender = {
  peer: 'buffer',
  label: '(h) 10 s in the process',
  counts: 'requests in SQL',
}
export const MORGAN: Contender = {
  peer: 'morgan',
  label: '(i) morgan to a file',
  counts: 'requests',
}
export const PINO: Contender = {
  peer: 'pino-http',
  label: '(j) pino-http to a file',
  counts: 'requests',
}
export const SESSION: Contender = {
  peer: 'express-session',
  label: '(k) express-session in memory',
  counts: 'visitors',
}
export const PROMETHEUS: Contender = {
  peer: 'express-prom-bundle',
  label: '(l) express-prom-bundle',
  counts: 'requests',
}
/** Middleware that sites have anyway. */
export const ACCEPTED = [MORGAN, PINO, SESSION, PROMETHEUS]
export const CONTENDERS = [
  NOTHING,
  EMPTY_HOOK,
  EMPTY_TWIN,
  WIDE_CACHE,
  INSERT,
  GET_AND_SET,
  APPEND,
  REDIS,
  BUFFER,
  ...ACCEPTED,
]

/** Contenders that differ by little. The target is about that difference. */
const CLOSE = [EMPTY_HOOK, EMPTY_TWIN, WIDE_CACHE]

/**
 * CPU time of the site's process, until all is done that the requests have begun: sent to a server,
 * written to a file.
 */
export const CPU: Metric = { metric: 'CPU µs/request', better: 'less' }
export const RATE: Metric = { metric: 'requests/s', better: 'more' }
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
  /**
   * Seconds of each contender in each round; those that differ by little have `closely` times as
   * many.
   */
  readonly seconds: number
  readonly closely: number
}

/**
 * Runs all contenders, in rounds, on each of the pages. A round is several slices of each
 * contender, so that what the machine does for a while falls on all. The setting of the samples is
 * the page's name.
 */
export async function throughput(
  bench: Bench,
  mariadb: MariaDb,
  {
    renderings,
    warmUpSeconds,
    slices,
    pages,
    alone,
  }: {
    renderings: number
    warmUpSeconds: number
    slices: number
    pages: readonly Page[]
    alone: Cores['alone']
  },
): Promise<void> {
  bench.progress('starting')
  const [memcached, redis] = await Promise.all([bench.memcached(), bench.redis()])
  const contenders = await Promise.all(
    CONTENDERS.map(async ({ peer }, at) => {
      const database = `overhead_${at}`
      await mariadb.createDatabase(database)
      return { peer, mysqlUrl: mariadb.url(database) }
    }),
  )
  const folder = temporaryFolder('logs')
  bench.after(() => removeFolder(folder))
  const site = await Site.start(
    { contenders, renderings, memcached: memcached.address, redisUrl: redis.url, folder },
    bench.after,
    alone,
  )
  const targets = new Map(
    CONTENDERS.map((contender, at): [Contender, Target] => {
      const app = site.apps[at]!
      return [contender, { app, crowd: new Crowd(app.port, CONNECTIONS) }]
    }),
  )
  bench.after(() => [...targets.values()].forEach(({ crowd }) => crowd.close()))

  // The first page is the one whose requests are so short that what the compiler does shows in
  // them.
  for (const { path, warmUp } of pages) {
    for (const [{ peer }, target] of targets) {
      bench.progress(`warming up ${peer}`)
      await slice(site, target, path, warmUpSeconds * warmUp)
    }
  }
  for (const page of pages) {
    for (let round = 0; round < page.rounds; round++) {
      bench.progress(`${page.name}: round ${round + 1} of ${page.rounds}`)
      const sums = new Map(CONTENDERS.map((contender) => [contender, new Sum()]))
      for (let at = 0; at < slices; at++) {
        for (const contender of shuffled(several(page.closely))) {
          sums
            .get(contender)!
            .add(await slice(site, targets.get(contender)!, page.path, page.seconds / slices))
        }
      }
      for (const [{ label }, sum] of sums) {
        for (const [metric, value] of sum.samples()) {
          bench.samples.add(label, page.name, metric, value)
        }
      }
    }
  }
  for (const [{ counts }, { app }] of targets) {
    if (counts !== undefined) await app.check(counts === 'visitors' ? CONNECTIONS : app.served)
  }
  await site.stop()
}

function several(times: number): Contender[] {
  return CONTENDERS.flatMap((contender) =>
    Array.from({ length: CLOSE.includes(contender) ? times : 1 }, () => contender),
  )
}

export interface Target {
  readonly app: App
  readonly crowd: Crowd
}

export interface Slice {
  readonly latencies: readonly number[]
  readonly seconds: number
  /** Microseconds: until all is done that the requests have begun, and until all is in SQL. */
  readonly cpu: number
  readonly whole: number
}

/** Lets so many visitors come for so long, and waits until all that they left is in SQL. */
export async function slice(
  site: Site,
  { app, crowd }: Target,
  path: string,
  seconds: number,
): Promise<Slice> {
  const before = await site.cpu()
  const load = await crowd.run(path, seconds)
  await app.flush()
  const cpu = await site.cpu()
  // What is left to do is not to burden the contender that comes next.
  await app.finish()
  const whole = await site.cpu()
  app.served += load.latencies.length
  return { ...load, cpu: cpu - before, whole: whole - before }
}

/** Slices of one contender in one round. */
export class Sum {
  readonly #latencies: number[] = []
  #seconds = 0
  #cpu = 0
  #whole = 0

  add({ latencies, seconds, cpu, whole }: Slice): void {
    for (const latency of latencies) this.#latencies.push(latency)
    this.#seconds += seconds
    this.#cpu += cpu
    this.#whole += whole
  }

  samples(): readonly (readonly [Metric, number])[] {
    const served = this.#latencies.length
    return [
      [CPU, this.#cpu / served],
      [CPU_WHOLE, this.#whole / served],
      [RATE, served / this.#seconds],
      [P50, quantile(this.#latencies, 0.5)],
      [P99, quantile(this.#latencies, 0.99)],
    ]
  }
}
