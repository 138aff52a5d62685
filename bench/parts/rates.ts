/**
 * CPU of a visit by the rate of requests: under continuous full load, in a young process and in one
 * that has served 20,000 requests, and at the rates that most sites have, at which fewer visits
 * share a frame. A site runs in a process for each contender. Under full load one after the other
 * has all the load; at a rate all have it at the same time. Targets are those of the project's
 * issue about wake-ups.
 */
import type { Memcached } from '../../test/servers/memcached.js'
import type { Child } from '../harness/child.js'
import { type Cores, divideCores } from '../harness/cores.js'
import type { Bench, Metric, Part, Report } from '../harness/part.js'
import { quantile } from '../harness/statistics.js'
import { withSpread } from '../harness/table.js'
import {
  COLLECTS,
  type Contender,
  EMPTY_HOOK,
  INSERT,
  OVER_HOOK,
  P99,
  SAME_RULES,
  WIDE_CACHE,
} from '../overhead/contenders.js'
import { CONNECTIONS } from '../overhead/full-load.js'
import { Crowd, Pace, shuffled } from '../overhead/load.js'
import { type App, Site } from '../overhead/site.js'
import { startWorker } from '../overhead/worker.js'

export const CONTENDERS = [EMPTY_HOOK, WIDE_CACHE, COLLECTS, INSERT, SAME_RULES]
export const YOUNG = 'full load, the first requests'
export const OLD = 'full load'
/** OVER_HOOK of the main thread alone. */
export const MAIN: Metric = {
  metric: 'CPU µs/request of the main thread over an empty hook',
  better: 'less',
}
const YOUNG_REQUESTS = 1_500

export const part: Part = {
  name: 'rates',
  question: 'What does a visit cost at low rates, and in a process that is no longer young?',
  run,
}

interface Running {
  readonly contender: Contender
  readonly site: Site
  readonly app: App
  readonly crowd: Crowd
  readonly collector: Child | undefined
}

interface Cpu {
  readonly all: number
  readonly main: number
}

export function atRate(rate: number): string {
  return `${rate}/s`
}

async function run(bench: Bench): Promise<Report> {
  const { text, alone } = divideCores()
  bench.setting('cores', { quick: text, normal: text })
  const rounds = bench.setting('rounds: a process of each contender', { quick: 1, normal: 3 })
  const served = bench.setting('requests served before', { quick: 2_000, normal: 20_000 })
  const seconds = bench.setting('full load: seconds of each', { quick: 1, normal: 12 })
  const rates = bench.setting('requests/s', { quick: [300, 20], normal: [300, 80, 20, 5] })
  const paced = bench.setting('seconds at these rates', { quick: [1, 2], normal: [15, 30, 60, 60] })
  const [mariadb, memcached] = await Promise.all([bench.mariadb(), bench.memcached()])
  for (let round = 0; round < rounds; round++) {
    bench.progress(`round ${round + 1} of ${rounds}`)
    const running: Running[] = []
    for (const [at, contender] of CONTENDERS.entries()) {
      const database = `rates_${round}_${at}`
      await mariadb.createDatabase(database)
      running.push(await start(bench, contender, mariadb.url(database), memcached, alone))
    }
    const each = async (setting: string, load: (one: Running) => Promise<number[]>) => {
      const turns = new Map<Contender, Turn>()
      for (const one of shuffled(running)) {
        turns.set(one.contender, await turn(one, () => load(one)))
      }
      keep(bench, setting, turns)
    }
    await each(YOUNG, ({ crowd }) => crowd.ask('/', YOUNG_REQUESTS))
    for (const one of running) {
      one.app.served += (await one.crowd.ask('/', served - YOUNG_REQUESTS)).length
    }
    await each(OLD, async ({ crowd }) => [...(await crowd.run('/', seconds)).latencies])
    for (const [at, rate] of rates.entries()) {
      bench.progress(`round ${round + 1} of ${rounds}: ${atRate(rate)}`)
      await atOnce(bench, running, rate, paced[at]!)
    }
    for (const one of running) await stop(one)
  }
  if (bench.mode !== 'quick') claims(bench, rates)
  return {}
}

interface Turn extends Cpu {
  readonly latencies: readonly number[]
}

/** The load of one, and all that it has begun. */
async function turn(one: Running, load: () => Promise<number[]>): Promise<Turn> {
  const before = await cpuOf(one)
  const latencies = await load()
  await one.app.flush()
  const after = await cpuOf(one)
  one.app.served += latencies.length
  return { latencies, all: after.all - before.all, main: after.main - before.main }
}

async function atOnce(
  bench: Bench,
  running: readonly Running[],
  rate: number,
  seconds: number,
): Promise<void> {
  const pace = new Pace(
    running.map(({ app }) => app.port),
    '/',
  )
  const before = await Promise.all(running.map(cpuOf))
  const latencies = await pace.run(rate, seconds)
  const after = await Promise.all(running.map(cpuOf))
  pace.close()
  const turns = new Map<Contender, Turn>()
  for (const [at, { contender, app }] of running.entries()) {
    app.served += latencies[at]!.length
    turns.set(contender, {
      latencies: latencies[at]!,
      all: after[at]!.all - before[at]!.all,
      main: after[at]!.main - before[at]!.main,
    })
  }
  keep(bench, atRate(rate), turns)
}

function keep({ samples }: Bench, setting: string, turns: ReadonlyMap<Contender, Turn>): void {
  const perRequest = ({ latencies, all, main }: Turn): Cpu => ({
    all: all / latencies.length,
    main: main / latencies.length,
  })
  const hook = perRequest(turns.get(EMPTY_HOOK)!)
  for (const [{ label }, taken] of turns) {
    samples.add(label, setting, P99, quantile(taken.latencies, 0.99))
    const { all, main } = perRequest(taken)
    samples.add(label, setting, OVER_HOOK, all - hook.all)
    samples.add(label, setting, MAIN, main - hook.main)
  }
}

async function cpuOf({ site }: Running): Promise<Cpu> {
  return { all: await site.cpu(), main: site.mainCpu() }
}

async function start(
  bench: Bench,
  contender: Contender,
  mysqlUrl: string,
  memcached: Memcached,
  alone: Cores['alone'],
): Promise<Running> {
  const { peer, collect } = contender
  const collector =
    contender === WIDE_CACHE
      ? await startWorker(bench, peer, { memcached: memcached.address, mysqlUrl })
      : undefined
  const site = await Site.start(
    {
      contenders: [{ peer, mysqlUrl, ...(collect === undefined ? {} : { options: { collect } }) }],
      renderings: 1,
      memcached: memcached.address,
    },
    bench.after,
    alone,
  )
  const app = site.apps[0]!
  return { contender, site, app, crowd: new Crowd(app.port, CONNECTIONS), collector }
}

/** @throws Error unless each request was counted once */
async function stop({ contender, site, app, crowd, collector }: Running): Promise<void> {
  if (contender.counts) await app.check()
  crowd.close()
  await site.stop()
  await collector?.end()
}

function claims(bench: Bench, rates: readonly number[]): void {
  const { claim, samples } = bench
  const most = (ours: Contender, other: Contender, setting: string, times: number): void => {
    const ratio = samples.ratio(ours.label, other.label, setting, OVER_HOOK)
    claim(
      `${setting}: ${ours.label.slice(4)} takes at most ${times} times what ` +
        `${other.label.slice(4)} takes (here ${withSpread(ratio)})`,
      ratio.median <= times,
    )
  }
  most(WIDE_CACHE, SAME_RULES, OLD, 1)
  most(COLLECTS, SAME_RULES, OLD, 1.3)
  for (const rate of rates) most(COLLECTS, INSERT, atRate(rate), rate >= 20 ? 0.5 : 1)
  for (const setting of [OLD, ...rates.map(atRate)]) {
    const ratio = samples.ratio(COLLECTS.label, EMPTY_HOOK.label, setting, P99)
    claim(
      `${setting}: p99 of the page is that of an empty hook (here ${withSpread(ratio)} times)`,
      ratio.low <= 1,
    )
  }
}
