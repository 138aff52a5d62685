/**
 * A site in a process of its own for each contender, and what its requests cost. Two processes of
 * one program differ, and V8 compiles code bit by bit: so a round has new processes, which serve
 * thousands of requests before what counts. They take the load one after the other, in another
 * order each lap, so that what the machine does falls on all. A sample is what a process took more
 * than that of the empty hook in its round.
 */
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Memcached } from '../../test/servers/memcached.js'
import type { Redis } from '../../test/servers/redis.js'
import type { Child } from '../harness/child.js'
import type { Cores } from '../harness/cores.js'
import type { Bench } from '../harness/part.js'
import { quantile } from '../harness/statistics.js'
import { cpuMicros } from '../scale/counters.js'
import {
  type Contender,
  CPU,
  EMPTY_HOOK,
  IN_SQL,
  MAIN,
  OVER_HOOK,
  P50,
  P99,
  THROUGHPUT,
  WIDE_CACHE,
} from './contenders.js'
import { Crowd, Pace, shuffled } from './load.js'
import { type App, Site } from './site.js'
import { startWorker } from './worker.js'

export const CONNECTIONS = 50

export interface Setup {
  readonly bench: Bench
  readonly mariadb: MariaDb
  readonly memcached: Memcached
  readonly redis: Redis
  /** Of the loggers. */
  readonly folder: string
  readonly renderings: number
  readonly alone: Cores['alone']
}

export interface Running {
  readonly contender: Contender
  readonly site: Site
  readonly app: App
  readonly crowd: Crowd
  readonly collector: Child | undefined
}

export async function start(
  { bench, mariadb, memcached, redis, folder, renderings, alone }: Setup,
  contender: Contender,
  database: string,
): Promise<Running> {
  const { peer, collect } = contender
  // Rows of others make nothing slower.
  await mariadb.createDatabase(database)
  const env = { memcached: memcached.address, mysqlUrl: mariadb.url(database) }
  const collector = contender === WIDE_CACHE ? await startWorker(bench, peer, env) : undefined
  const own = { peer, ...env, ...(collect === undefined ? {} : { options: { collect } }) }
  const given = { contenders: [own], renderings, ...env, redisUrl: redis.url, folder }
  const site = await Site.start(given, bench.after, alone)
  const app = site.apps[0]!
  return { contender, site, app, crowd: new Crowd(app.port, CONNECTIONS), collector }
}

/** @throws Error unless each request was counted once */
export async function stop({ contender, site, app, crowd, collector }: Running): Promise<void> {
  const { counts } = contender
  if (counts) await app.check(counts === 'visitors' ? CONNECTIONS : app.served)
  crowd.close()
  await site.stop()
  await collector?.end()
}

/** µs of CPU: so far, or of a turn. */
interface Cpu {
  readonly site: number
  /** Of the site's main thread alone. */
  readonly main: number
  /** Of its collector and all servers. */
  readonly others: number
}

interface Turn {
  readonly latencies: readonly number[]
  /** Until all is done that the requests have begun: sent to a server, written to a file. */
  readonly sent: Cpu
  /** Until the visits are in SQL. */
  readonly whole: Cpu
}

type Load = (one: Running) => Promise<readonly number[]>

/**
 * Each takes the load, in so many laps. `before`: load of each turn that does not count. While a
 * process waits for its turn, V8 shrinks its heap, and the processor's caches fill with others.
 */
export async function byTurns(
  setup: Setup,
  running: readonly Running[],
  setting: string,
  { laps, load, before: early }: { laps: number; load: Load; before?: Load },
): Promise<void> {
  const turns = new Map<Contender, Turn[]>(running.map(({ contender }) => [contender, []]))
  for (let lap = 0; lap < laps; lap++) {
    for (const one of shuffled(running)) {
      if (early) {
        one.app.served += (await early(one)).length
        await one.app.finish()
      }
      const before = await look(setup, one)
      const latencies = await load(one)
      one.app.served += latencies.length
      await one.app.flush()
      // What it collects is its own work, and no later contender's turn is to pay for it.
      if (one.contender.collect !== undefined) await one.app.finish()
      const sent = spent(before, await look(setup, one))
      await one.app.finish()
      const whole = spent(before, await look(setup, one))
      turns.get(one.contender)!.push({ latencies, sent, whole })
    }
  }
  keep(setup.bench, setting, turns)
}

/**
 * Lets each bring some visits to SQL so many times. A process that collects every 3 seconds has
 * done so 1,200 times an hour, and its code for that is as old as the one for its requests.
 */
export async function collectOften(running: readonly Running[], times: number): Promise<void> {
  for (let at = 0; at < times; at++) {
    for (const { app, crowd } of running) {
      app.served += (await crowd.ask('/', CONNECTIONS)).length
      await app.finish()
    }
  }
}

/**
 * All get the same number of requests a second at the same time. `before`: seconds of it that do
 * not count, in which V8 shrinks a heap that has had the full load.
 */
export async function atOnce(
  setup: Setup,
  running: readonly Running[],
  setting: string,
  rate: number,
  { before: early, seconds }: { before: number; seconds: number },
): Promise<void> {
  const pace = new Pace(
    running.map(({ app }) => app.port),
    '/',
  )
  for (const [at, latencies] of (await pace.run(rate, early)).entries()) {
    running[at]!.app.served += latencies.length
  }
  const looks = (): Promise<Cpu[]> => Promise.all(running.map((one) => look(setup, one)))
  const before = await looks()
  const latencies = await pace.run(rate, seconds)
  const after = await looks()
  pace.close()
  const turns = running.map(({ contender, app }, at): [Contender, Turn[]] => {
    app.served += latencies[at]!.length
    const sent = spent(before[at]!, after[at]!)
    return [contender, [{ latencies: latencies[at]!, sent, whole: sent }]]
  })
  keep(setup.bench, setting, new Map(turns))
}

async function look({ mariadb, memcached, redis }: Setup, one: Running): Promise<Cpu> {
  const pids = [
    memcached.pid,
    redis.pid,
    mariadb.pid,
    ...(one.collector ? [one.collector.pid] : []),
  ]
  const others = pids.map(cpuMicros).reduce((sum, micros) => sum + micros, 0)
  return { site: await one.site.cpu(), main: one.site.mainCpu(), others }
}

function spent(before: Cpu, after: Cpu): Cpu {
  return {
    site: after.site - before.site,
    main: after.main - before.main,
    others: after.others - before.others,
  }
}

function keep(
  { samples }: Bench,
  setting: string,
  turns: ReadonlyMap<Contender, readonly Turn[]>,
): void {
  const perRequest = (of: readonly Turn[], cpu: (turn: Turn) => number): number =>
    of.reduce((sum, turn) => sum + cpu(turn), 0) /
    of.reduce((sum, { latencies }) => sum + latencies.length, 0)
  const site = ({ sent }: Turn): number => sent.site
  const main = ({ sent }: Turn): number => sent.main
  const hook = turns.get(EMPTY_HOOK)!
  const ofHook = perRequest(hook, site)
  for (const [{ label, counts }, own] of turns) {
    const cpu = perRequest(own, site)
    const latencies = own.flatMap((turn) => turn.latencies)
    samples.add(label, setting, CPU, cpu)
    samples.add(label, setting, P50, quantile(latencies, 0.5))
    samples.add(label, setting, P99, quantile(latencies, 0.99))
    samples.add(label, setting, OVER_HOOK, cpu - ofHook)
    samples.add(label, setting, MAIN, perRequest(own, main) - perRequest(hook, main))
    samples.add(label, setting, THROUGHPUT, ofHook / cpu)
    if (counts === 'requests in SQL') {
      const whole = perRequest(own, (turn) => turn.whole.site + turn.whole.others)
      samples.add(label, setting, IN_SQL, whole)
    }
  }
}
