/**
 * Costs of a request with each contender: CPU, requests a second as fast as the site can, and
 * latency under that load. Each sample is that of a process of its own: two processes of the same
 * program differ more than two moments of one. In each round every contender has one, in random
 * order, and is compared with those of that round.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Cores } from '../harness/cores.js'
import type { Bench, Metric } from '../harness/part.js'
import { quantile } from '../harness/statistics.js'
import { cpuMicros } from '../scale/counters.js'
import {
  CONTENDERS,
  CPU,
  CPU_WHOLE,
  IN_SQL,
  P50,
  P99,
  RATE,
  WIDE_CACHE,
} from './contenders.js'
import { Crowd, shuffled } from './load.js'
import { type App, Site } from './site.js'

export const CONNECTIONS = 50

export interface Page {
  readonly name: string
  readonly path: string
  readonly warmUpSeconds: number
  readonly seconds: number
}

/**
 * A site that collects has done so for all visits only when these are as old as the oldest layer
 * that waits; and it comes every three seconds.
 */
const COLLECTING = { warmUpSeconds: 12, seconds: 6 }

/** Runs all contenders on each of the pages. The setting of the samples is the page's name. */
export async function throughput(
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
    for (const [at, contender] of shuffled(CONTENDERS).entries()) {
      const { peer, label, counts, collect } = contender
      bench.progress(`round ${round + 1} of ${rounds}: ${label}`)
      // Rows of earlier rounds make nothing slower.
      const database = `overhead_${round}_${at}`
      await mariadb.createDatabase(database)
      const mysqlUrl = mariadb.url(database)
      const collector =
        contender === WIDE_CACHE
          ? await startCollector(bench, memcached.address, mysqlUrl)
          : undefined
      const pids = [memcached.pid, redis.pid, mariadb.pid, ...(collector ? [collector.pid!] : [])]
      const others = (): number => pids.map(cpuMicros).reduce((sum, micros) => sum + micros, 0)
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
      const target = { app, crowd: new Crowd(app.port, CONNECTIONS) }
      for (const page of pages) {
        const { warmUpSeconds, seconds } =
          collect === undefined || bench.mode === 'quick' ? page : COLLECTING
        app.served += (await target.crowd.run(page.path, warmUpSeconds)).latencies.length
        if (collect === undefined) await app.finish()
        const sum = new Sum()
        sum.add(
          await slice(site, target, page.path, seconds, {
            others,
            goesOn: collect !== undefined,
          }),
        )
        for (const [metric, value] of sum.samples()) {
          bench.samples.add(label, page.name, metric, value)
        }
      }
      if (counts) await app.check(counts === 'visitors' ? CONNECTIONS : app.served)
      target.crowd.close()
      await site.stop()
      collector?.kill('SIGKILL')
    }
  }
}

async function startCollector(
  bench: Bench,
  memcached: string,
  mysqlUrl: string,
): Promise<ChildProcess> {
  const collector = fork(new URL('../faults/worker.js', import.meta.url), {
    execArgv: [],
    env: {
      ...process.env,
      WRITERS: JSON.stringify([{ peer: WIDE_CACHE.peer, env: { memcached, mysqlUrl } }]),
    },
  })
  bench.after(() => collector.kill('SIGKILL'))
  await once(collector, 'message')
  return collector
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
  /** Microseconds of other processes, in the same time. */
  readonly others: number
}

/**
 * Lets so many visitors come for so long, and waits until all that they left is in SQL. `others`:
 * the CPU time of other processes so far. `goesOn`: it has collected all the time, as much as came.
 */
export async function slice(
  site: Site,
  { app, crowd }: Target,
  path: string,
  seconds: number,
  { others = () => 0, goesOn = false }: { others?: () => number; goesOn?: boolean } = {},
): Promise<Slice> {
  const beside = others()
  const before = await site.cpu()
  const load = await crowd.run(path, seconds)
  await app.flush()
  const cpu = await site.cpu()
  // What is left to do is not to burden the contender that comes next.
  if (!goesOn) await app.finish()
  const whole = await site.cpu()
  app.served += load.latencies.length
  return { ...load, cpu: cpu - before, whole: whole - before, others: others() - beside }
}

/** Slices of one contender in one round. */
export class Sum {
  readonly #latencies: number[] = []
  #seconds = 0
  #cpu = 0
  #whole = 0
  #others = 0

  add({ latencies, seconds, cpu, whole, others }: Slice): void {
    for (const latency of latencies) this.#latencies.push(latency)
    this.#seconds += seconds
    this.#cpu += cpu
    this.#whole += whole
    this.#others += others
  }

  samples(): readonly (readonly [Metric, number])[] {
    const served = this.#latencies.length
    return [
      [CPU, this.#cpu / served],
      [CPU_WHOLE, this.#whole / served],
      [IN_SQL, (this.#whole + this.#others) / served],
      [RATE, served / this.#seconds],
      [P50, quantile(this.#latencies, 0.5)],
      [P99, quantile(this.#latencies, 0.99)],
    ]
  }
}
