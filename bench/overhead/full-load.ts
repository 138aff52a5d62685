/**
 * Costs of a request under full load: CPU, and latency. Two processes of one program differ, and so
 * do two moments of one process: V8 compiles its code bit by bit, and other machines of the host
 * slow it down for seconds. So a new process of the contender and one with the empty hook take the
 * load by turns of some milliseconds: they are as old and as warm as each other, and what the
 * machine does falls on both. A sample is the difference of such a pair.
 */
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Child } from '../harness/child.js'
import type { Cores } from '../harness/cores.js'
import type { Bench } from '../harness/part.js'
import { quantile } from '../harness/statistics.js'
import { cpuMicros } from '../scale/counters.js'
import {
  ACCEPTED,
  APPEND,
  BUFFER,
  COLLECTS,
  type Contender,
  CPU,
  EMPTY_HOOK,
  GET_AND_SET,
  HASH,
  IN_SQL,
  INSERT,
  NOTHING,
  OVER_HOOK,
  P50,
  P99,
  REDIS,
  THROUGHPUT,
  UPDATES,
  WIDE_CACHE,
} from './contenders.js'
import { Crowd, shuffled } from './load.js'
import { type App, Site } from './site.js'
import { startWorker } from './worker.js'

export const CONNECTIONS = 50

export interface Page {
  readonly name: string
  readonly path: string
  readonly contenders: readonly Contender[]
  /** Of each process. */
  readonly warmUpSeconds: number
  readonly seconds: number
}

/**
 * Contenders that share an empty hook, which saves the time of a hook for each. Of those whose
 * visits come to SQL there is one in each group: what the servers do meanwhile is its work.
 */
const GROUPS: readonly (readonly Contender[])[] = [
  [WIDE_CACHE],
  [COLLECTS],
  [NOTHING, INSERT],
  [REDIS],
  [HASH],
  [BUFFER],
  [UPDATES],
  [GET_AND_SET, APPEND, ...ACCEPTED],
]

/**
 * A site that collects has done so for all visits only when these are as old as the oldest layer
 * that waits, which is 12 seconds; and it comes every three seconds. Its hook takes as many again.
 */
const COLLECTING = { warmUpSeconds: 6, seconds: 3 }
const TURN_SECONDS = 0.02

interface Running {
  readonly contender: Contender
  readonly site: Site
  readonly app: App
  readonly crowd: Crowd
  readonly collector: Child | undefined
}

/** Microseconds of CPU so far: of the site, and of its collector and all servers. */
interface Look {
  readonly site: number
  readonly others: number
}

/** Runs all contenders on their pages. The setting of the samples is the page's name. */
export async function fullLoad(
  bench: Bench,
  mariadb: MariaDb,
  {
    renderings,
    rounds,
    pages,
    alone,
  }: {
    renderings: number
    rounds: number
    pages: readonly Page[]
    alone: Cores['alone']
  },
): Promise<void> {
  bench.progress('starting')
  const [memcached, redis] = await Promise.all([bench.memcached(), bench.redis()])
  const folder = temporaryFolder('logs')
  bench.after(() => removeFolder(folder))

  for (let round = 0; round < rounds; round++) {
    for (const [at, group] of shuffled(GROUPS).entries()) {
      const names = group.map(({ label }) => label).join(', ')
      bench.progress(`round ${round + 1} of ${rounds}: ${names}`)
      // Rows of earlier rounds make nothing slower.
      const database = `overhead_${round}_${at}`
      await mariadb.createDatabase(database)
      const running = await Promise.all(
        [EMPTY_HOOK, ...group].map((contender) => start(contender, mariadb.url(database))),
      )
      for (const page of pages) {
        if (!group.some((contender) => page.contenders.includes(contender))) continue
        const pace = bench.mode !== 'quick' && group.includes(COLLECTS) ? COLLECTING : page
        await measure(running, page, pace)
      }
      await Promise.all(running.map(stop))
    }
  }

  async function start(contender: Contender, mysqlUrl: string): Promise<Running> {
    const { peer, collect } = contender
    const collector =
      contender === WIDE_CACHE
        ? await startWorker(bench, peer, { memcached: memcached.address, mysqlUrl })
        : undefined
    const options = collect === undefined ? {} : { options: { collect } }
    const site = await Site.start(
      {
        contenders: [{ peer, mysqlUrl, ...options }],
        renderings,
        memcached: memcached.address,
        redisUrl: redis.url,
        folder,
      },
      bench.after,
      alone,
    )
    const app = site.apps[0]!
    return { contender, site, app, crowd: new Crowd(app.port, CONNECTIONS), collector }
  }

  async function look({ site, collector }: Running): Promise<Look> {
    const pids = [memcached.pid, redis.pid, mariadb.pid, ...(collector ? [collector.pid] : [])]
    const others = pids.map(cpuMicros).reduce((sum, micros) => sum + micros, 0)
    return { site: await site.cpu(), others }
  }

  async function measure(
    running: readonly Running[],
    { name, path }: Page,
    { warmUpSeconds, seconds }: Pick<Page, 'warmUpSeconds' | 'seconds'>,
  ): Promise<void> {
    await byTurns(running, path, warmUpSeconds)
    await finish(running)
    const before = await Promise.all(running.map(look))
    const latencies = await byTurns(running, path, seconds)
    const sent = await Promise.all(running.map(look))
    await finish(running)
    const after = await Promise.all(running.map(look))

    const cpu = running.map((_, at) => (sent[at]!.site - before[at]!.site) / latencies[at]!.length)
    const ofHook = cpu[0]!
    for (const [at, { contender }] of running.entries()) {
      const { label } = contender
      const { samples } = bench
      samples.add(label, name, CPU, cpu[at]!)
      samples.add(label, name, P50, quantile(latencies[at]!, 0.5))
      samples.add(label, name, P99, quantile(latencies[at]!, 0.99))
      if (at > 0) {
        samples.add(label, name, OVER_HOOK, cpu[at]! - ofHook)
        samples.add(label, name, THROUGHPUT, ofHook / cpu[at]!)
      }
      if (contender.counts === 'requests in SQL') {
        const all = ({ site, others }: Look): number => site + others
        const whole = all(after[at]!) - all(before[at]!)
        samples.add(label, name, IN_SQL, whole / latencies[at]!.length)
      }
    }
  }
}

/**
 * Returns the latencies of each. Visitors come to one after the other, in another order each turn,
 * until each has had so many seconds.
 */
async function byTurns(
  running: readonly Running[],
  path: string,
  seconds: number,
): Promise<number[][]> {
  const latencies: number[][] = running.map(() => [])
  // A turn is longer by the last answers that it waits for.
  for (let spent = 0; spent < seconds * running.length;) {
    for (const at of shuffled([...running.keys()])) {
      const load = await running[at]!.crowd.run(path, TURN_SECONDS)
      spent += load.seconds
      for (const latency of load.latencies) latencies[at]!.push(latency)
    }
  }
  for (const [at, { app }] of running.entries()) {
    await app.flush()
    app.served += latencies[at]!.length
  }
  return latencies
}

/** Not of one that collects all the time, as much as comes. */
async function finish(running: readonly Running[]): Promise<void> {
  for (const { contender, app } of running) {
    if (contender.collect === undefined) await app.finish()
  }
}

/** @throws Error unless each request was counted once */
async function stop({ contender, site, app, crowd, collector }: Running): Promise<void> {
  const { counts } = contender
  if (counts) await app.check(counts === 'visitors' ? CONNECTIONS : app.served)
  crowd.close()
  await site.stop()
  await collector?.end()
}
