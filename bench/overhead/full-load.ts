/**
 * A site in a process of its own for each contender, and what its requests cost. Two processes of
 * one program differ, and V8 compiles code bit by bit: so a round has new processes, which serve
 * thousands of requests before what counts. They take the load one after the other, in another
 * order each lap, so that what the machine does falls on all. A sample is what a process took more
 * than that of the empty hook in its round.
 */
import type { Redis } from '../../test/servers/redis.js'
import type { Bench } from '../harness/part.js'
import { since, sum } from '../harness/statistics.js'
import { cpuMicros } from '../scale/counters.js'
import * as contenders from './contenders.js'
import { Crowd, Pace, shuffled } from './load.js'
import { type Setup as Sites, startSite } from './site.js'
import { startWorkers } from './worker.js'

type Contender = contenders.Contender

export const CONNECTIONS = 50

type Setup = Sites & { readonly redis: Redis }

export type Running = Awaited<ReturnType<typeof start>>

export async function start(
  { bench, mariadb, memcached, redis, folder, renderings, alone }: Setup,
  contender: Contender,
  database: string,
) {
  const { peer, collect } = contender
  // Rows of others make nothing slower.
  await mariadb.createDatabase(database)
  const env = { memcached: memcached.address, mysqlUrl: mariadb.url(database) }
  const collector =
    contender === contenders.WIDE_CACHE ? await startWorkers(bench, { peer, env }) : undefined
  const own = { peer, ...env, ...(collect === undefined ? {} : { options: { collect } }) }
  const given = { contenders: [own], renderings, ...env, redisUrl: redis.url, folder }
  const site = await startSite(bench, given, alone)
  const app = site.apps[0]!
  return { contender, site, app, crowd: new Crowd(app, CONNECTIONS), collector }
}

/** @throws Error unless each request was counted once */
export async function stop({ contender, site, app, crowd, collector }: Running): Promise<void> {
  const { counts } = contender
  if (counts) await app.check(counts === 'visitors' ? CONNECTIONS : app.served)
  crowd.close()
  await site.stop()
  await collector?.end()
}

/** µs of CPU, so far or of a turn: of the site, its main thread, and collector and servers. */
type Cpu = Readonly<Record<'site' | 'main' | 'others', number>>

interface Turn {
  readonly latencies: readonly number[]
  /** Until all is done that the requests have begun: sent to a server, written to a file. */
  readonly sent: Cpu
  /** Until the visits are in SQL. */
  readonly whole: Cpu
}

type Load = (crowd: Crowd) => Promise<readonly number[]>

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
      const { app, contender, crowd } = one
      if (early) {
        await early(crowd)
        await app.finish()
      }
      const spent = await watch(setup, one)
      const latencies = await load(crowd)
      await app.flush()
      // What it collects is its own work, and no later contender's turn is to pay for it.
      if (contender.collect !== undefined) await app.finish()
      const sent = await spent()
      await app.finish()
      turns.get(contender)!.push({ latencies, sent, whole: await spent() })
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
      await crowd.ask('/', CONNECTIONS)
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
  const pace = new Pace(running.map(({ app }) => app))
  await pace.run(rate, early)
  const spent = await Promise.all(running.map((one) => watch(setup, one)))
  const latencies = await pace.run(rate, seconds)
  const sent = await Promise.all(spent.map((look) => look()))
  pace.close()
  const turns = running.map(({ contender }, at): [Contender, Turn[]] => [
    contender,
    [{ latencies: latencies[at]!, sent: sent[at]!, whole: sent[at]! }],
  ])
  keep(setup.bench, setting, new Map(turns))
}

/** Resolves to what looks at the CPU that was spent since. */
async function watch(
  { mariadb, memcached, redis }: Setup,
  { site, collector }: Running,
): Promise<() => Promise<Cpu>> {
  const servers = [memcached, redis, mariadb, ...(collector ? [collector] : [])]
  const look = async (): Promise<Cpu> => ({
    site: await site.cpu(),
    main: site.mainCpu(),
    others: sum(servers.map(({ pid }) => cpuMicros(pid))),
  })
  const before = await look()
  return async () => since(before, await look())
}

function keep(
  { samples }: Bench,
  setting: string,
  turns: ReadonlyMap<Contender, readonly Turn[]>,
): void {
  const perRequest = (of: readonly Turn[], cpu: (turn: Turn) => number): number =>
    sum(of.map(cpu)) / sum(of.map(({ latencies }) => latencies.length))
  const site = ({ sent }: Turn): number => sent.site
  const main = ({ sent }: Turn): number => sent.main
  const hook = turns.get(contenders.EMPTY_HOOK)!
  const ofHook = perRequest(hook, site)
  for (const [{ label, counts }, own] of turns) {
    const cpu = perRequest(own, site)
    const ofMain = perRequest(own, main) - perRequest(hook, main)
    const whole = perRequest(own, (turn) => turn.whole.site + turn.whole.others)
    samples.add(label, setting, contenders.CPU, cpu)
    samples.addLatencies(
      label,
      setting,
      own.flatMap((turn) => turn.latencies),
    )
    samples.add(label, setting, contenders.OVER_HOOK, cpu - ofHook)
    samples.add(label, setting, contenders.MAIN, ofMain)
    samples.add(label, setting, contenders.THROUGHPUT, ofHook / cpu)
    if (counts === 'requests in SQL') samples.add(label, setting, contenders.IN_SQL, whole)
  }
}
