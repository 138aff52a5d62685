/**
 * Waits of a visitor at a modest, fixed rate: of healthy sites, and of sites on wide-cache whose
 * cache, or cache and database, have gone away. All are asked in turns, request by request, so that
 * what the machine does at a time falls on all of them.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { MariaDb } from '../../test/servers/mariadb.js'
import { EVERY_THREE_SECONDS } from '../harness/collecting.js'
import type { Cores } from '../harness/cores.js'
import type { Bench } from '../harness/part.js'
import { urlThrough } from '../harness/sql.js'
import { Pace } from './load.js'
import { type App, startSite } from './site.js'
import {
  BUFFER,
  CPU_WHOLE,
  type Contender,
  EMPTY_HOOK,
  INSERT,
  REDIS,
  WIDE_CACHE,
} from './contenders.js'

/**
 * `refused`: nobody listens there any more. `silent`: connections stay open, and nobody answers.
 */
type Fault = 'refused' | 'silent'

export interface Case {
  readonly contender: Contender
  readonly label: string
  readonly cache?: Fault
  readonly database?: Fault
}

/** It collects by itself, so it feels all that the collector does. */
const ours = (what: string, faults: Pick<Case, 'cache' | 'database'> = {}): Case => ({
  contender: WIDE_CACHE,
  label: `wide-cache, ${what}`,
  ...faults,
})
export const WELL = ours('all healthy')
/** The noise: the difference between two equal sites. */
export const REPEATED = ours('all healthy, a second site')
export const DOWN: readonly Case[] = [
  ours('cache refused', { cache: 'refused' }),
  ours('cache silent', { cache: 'silent' }),
  ours('both refused', { cache: 'refused', database: 'refused' }),
  ours('both silent', { cache: 'silent', database: 'silent' }),
]
export const CASES: readonly Case[] = [
  ...[EMPTY_HOOK, INSERT, REDIS, BUFFER].map((contender) => ({
    contender,
    label: contender.label,
  })),
  WELL,
  REPEATED,
  ...DOWN,
]

const RECOVERY_MS = 60_000
const RECOVERY_POLL_MS = 500

/** Rates and times, and the core on which the sites are. */
interface Plan {
  /** That of the samples. */
  readonly setting: string
  readonly rate: number
  readonly rounds: number
  readonly seconds: number
  readonly warmUpSeconds: number
  readonly alone: Cores['alone']
}

/** Runs all cases side by side; a round is a slice of time. */
export async function outages(bench: Bench, mariadb: MariaDb, plan: Plan): Promise<void> {
  const { setting, rate, rounds, seconds } = plan
  bench.progress(`${setting}: starting`)
  const { url } = await bench.redis()
  const running = await Promise.all(
    CASES.map((each, at) => start(bench, mariadb, url, plan.alone, { ...each, at })),
  )
  const pace = new Pace(running.map(({ app }) => app))
  bench.after(() => pace.close())

  bench.progress(`${setting}: warming up`)
  await pace.run(rate, plan.warmUpSeconds)
  // What the cache takes with it is in SQL already: how losses are made good is the question of the
  // part `faults`.
  await Promise.all(running.map(({ app }) => app.finish()))
  await Promise.all(running.map(takeAway))
  for (let round = 0; round < rounds; round++) {
    bench.progress(`${setting}: ${round + 1} of ${rounds}`)
    const before = await Promise.all(running.map(({ site }) => site.cpu()))
    const latencies = await pace.run(rate, seconds)
    for (const [at, { site, label }] of running.entries()) {
      const own = latencies[at]!
      bench.samples.addLatencies(label, setting, own)
      const cpu = (await site.cpu()) - before[at]!
      bench.samples.add(label, setting, CPU_WHOLE, cpu / own.length)
    }
  }

  bench.progress(`${setting}: recovering`)
  await Promise.all(running.map(giveBack))
  await Promise.all(running.map(({ app, contender }) => contender.counts && recovered(app)))
  pace.close()
  await Promise.all(running.map(({ site }) => site.stop()))
}

type Running = Awaited<ReturnType<typeof start>>

async function start(
  bench: Bench,
  mariadb: MariaDb,
  redisUrl: string,
  alone: Cores['alone'],
  { at, ...one }: Case & { at: number },
) {
  const url = await mariadb.createDatabase(`outage_${at}`)
  const [memcached, proxy] = await Promise.all([
    bench.memcached(),
    bench.proxy(`127.0.0.1:${mariadb.port}`),
  ])
  const mysqlUrl = urlThrough(proxy.port, url)
  const { peer } = one.contender
  const own = { peer, mysqlUrl, options: { collect: EVERY_THREE_SECONDS } }
  const given = { contenders: [own], renderings: 1, memcached: memcached.address, redisUrl }
  const site = await startSite(bench, given, alone)
  return { ...one, site, app: site.apps[0]!, memcached, proxy }
}

async function takeAway({ memcached, proxy, cache, database }: Running): Promise<void> {
  if (cache === 'refused') await memcached.kill()
  if (cache === 'silent') memcached.pause()
  if (database === 'refused') await proxy.refuse()
  if (database === 'silent') proxy.swallow()
}

async function giveBack({ memcached, proxy, cache, database }: Running): Promise<void> {
  if (cache === 'refused') await memcached.start()
  if (cache === 'silent') memcached.resume()
  if (database === 'refused') await proxy.listen()
  if (database === 'silent') {
    proxy.pass()
    // As of a server that was started anew: what was asked into the silence is told that it is
    // never answered.
    proxy.drop('rst')
  }
}

/** Resolves when SQL has each visit once. @throws Error if it does not come to that */
async function recovered(app: App): Promise<void> {
  const deadline = performance.now() + RECOVERY_MS
  const isWhole = (): Promise<boolean> =>
    app.check().then(
      () => true,
      () => false,
    )
  while (!(await isWhole())) {
    if (performance.now() > deadline) return app.check()
    await delay(RECOVERY_POLL_MS)
  }
}
