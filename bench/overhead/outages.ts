/**
 * Waits of a visitor at a modest, fixed rate: of healthy sites, and of sites on wide-cache whose
 * cache, or cache and database, have gone away. All are asked in turns, request by request, so that
 * what the machine does at a time falls on all of them.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type FaultyTcp, startFaultyTcp } from '../../test/servers/faulty-tcp.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Memcached } from '../../test/servers/memcached.js'
import { EVERY_THREE_SECONDS } from '../harness/collecting.js'
import type { Cores } from '../harness/cores.js'
import type { Bench } from '../harness/part.js'
import { quantile } from '../harness/statistics.js'
import { Pace } from './load.js'
import { type App, Site } from './site.js'
import {
  BUFFER,
  CPU_WHOLE,
  type Contender,
  EMPTY_HOOK,
  INSERT,
  P50,
  P99,
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

interface Running {
  readonly site: Site
  readonly app: App
  readonly memcached: Memcached
  readonly proxy: FaultyTcp
}

/** Runs all cases side by side; a round is a slice of time. Their samples' setting is `setting`. */
export async function outages(
  bench: Bench,
  mariadb: MariaDb,
  {
    setting,
    rate,
    rounds,
    seconds,
    warmUpSeconds,
    alone,
  }: {
    setting: string
    rate: number
    rounds: number
    seconds: number
    warmUpSeconds: number
    alone: Cores['alone']
  },
): Promise<void> {
  bench.progress(`${setting}: starting`)
  const redis = await bench.redis()
  const running = await Promise.all(
    CASES.map((each, at) => start(bench, mariadb, redis.url, alone, each, at)),
  )
  const pace = new Pace(
    running.map(({ app }) => app.port),
    '/',
  )
  bench.after(() => pace.close())
  const visit = async (seconds: number): Promise<number[][]> => {
    const latencies = await pace.run(rate, seconds)
    for (const [at, { app }] of running.entries()) app.served += latencies[at]!.length
    return latencies
  }

  bench.progress(`${setting}: warming up`)
  await visit(warmUpSeconds)
  // What the cache takes with it is in SQL already: how losses are made good is the question of the
  // part `faults`.
  await Promise.all(running.map(({ app }) => app.finish()))
  await Promise.all(running.map((each, at) => takeAway(each, CASES[at]!)))
  for (let round = 0; round < rounds; round++) {
    bench.progress(`${setting}: ${round + 1} of ${rounds}`)
    const before = await Promise.all(running.map(({ site }) => site.cpu()))
    const latencies = await visit(seconds)
    for (const [at, { site }] of running.entries()) {
      const { label } = CASES[at]!
      bench.samples.add(label, setting, P50, quantile(latencies[at]!, 0.5))
      bench.samples.add(label, setting, P99, quantile(latencies[at]!, 0.99))
      bench.samples.add(
        label,
        setting,
        CPU_WHOLE,
        ((await site.cpu()) - before[at]!) / latencies[at]!.length,
      )
    }
  }

  bench.progress(`${setting}: recovering`)
  await Promise.all(running.map((each, at) => giveBack(each, CASES[at]!)))
  await Promise.all(running.map(({ app }, at) => CASES[at]!.contender.counts && recovered(app)))
  pace.close()
  await Promise.all(running.map(({ site }) => site.stop()))
}

async function start(
  bench: Bench,
  mariadb: MariaDb,
  redisUrl: string,
  alone: Cores['alone'],
  { contender }: Case,
  at: number,
): Promise<Running> {
  const database = `outage_${at}`
  await mariadb.createDatabase(database)
  const [memcached, proxy] = await Promise.all([
    bench.memcached(),
    startFaultyTcp(`127.0.0.1:${mariadb.port}`),
  ])
  bench.after(() => proxy.close())
  const mysqlUrl = new URL(mariadb.url(database))
  mysqlUrl.port = String(proxy.port)
  const site = await Site.start(
    {
      contenders: [
        {
          peer: contender.peer,
          mysqlUrl: mysqlUrl.href,
          options: { collect: EVERY_THREE_SECONDS },
        },
      ],
      renderings: 1,
      memcached: memcached.address,
      redisUrl,
    },
    bench.after,
    alone,
  )
  return { site, app: site.apps[0]!, memcached, proxy }
}

async function takeAway({ memcached, proxy }: Running, { cache, database }: Case): Promise<void> {
  if (cache === 'refused') await memcached.kill()
  if (cache === 'silent') memcached.pause()
  if (database === 'refused') await proxy.refuse()
  if (database === 'silent') proxy.swallow()
}

async function giveBack({ memcached, proxy }: Running, { cache, database }: Case): Promise<void> {
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
  while (
    !(await app.count().then(
      (count) => count === app.served,
      () => false,
    ))
  ) {
    if (performance.now() > deadline) return app.check()
    await delay(RECOVERY_POLL_MS)
  }
}
