/**
 * A site that records each request: by an `INSERT` each, through mysql2 and through pg, and through
 * wide-cache on either database. All are apps of one process.
 */
import type { Bench, Metric } from '../harness/part.js'
import { quantile } from '../harness/statistics.js'
import { CPU, CPU_WHOLE, P50, P99 } from '../overhead/contenders.js'
import { CONNECTIONS } from '../overhead/full-load.js'
import { Crowd, type Load } from '../overhead/load.js'
import { type App, Site } from '../overhead/site.js'
import { MARIADB, POSTGRES, type Server } from './servers.js'
import { less } from '../harness/samples.js'

export const EMPTY_HOOK = 'empty hook'
export const WIDE_CACHE = 'wide-cache'
export const INSERT = 'one INSERT per visit'
export const STATEMENTS = less('statements/visit')

const PEERS = [
  { way: WIDE_CACHE, peers: { [MARIADB]: 'wide-cache', [POSTGRES]: 'wide-cache' } },
  {
    way: INSERT,
    peers: { [MARIADB]: 'insert-per-visit', [POSTGRES]: 'insert-per-visit-pg' },
  },
] as const

export interface Pace {
  readonly rounds: number
  /** Of each contender in each round. */
  readonly seconds: number
  readonly warmUpSeconds: number
}

/** The settings of the samples are the databases; the hook, which has none, is in both. */
export async function requests(
  bench: Bench,
  servers: readonly Server[],
  memcached: string,
  { rounds, seconds, warmUpSeconds }: Pace,
): Promise<void> {
  const ways = await Promise.all(
    PEERS.flatMap(({ way, peers }, at) =>
      servers.map(async (server) => {
        const name = `requests_${at}`
        const url = await server.create(name)
        await server.counted(name)
        return { way, server, contender: { peer: peers[server.label], ...server.given(url) } }
      }),
    ),
  )
  const site = await Site.start(
    {
      contenders: [{ peer: 'empty-hook', mysqlUrl: '' }, ...ways.map(({ contender }) => contender)],
      renderings: 1,
      memcached,
    },
    bench.after,
    { execArgv: [] },
  )
  const targets = site.apps.map((app): Target => ({ app, crowd: new Crowd(app.port, CONNECTIONS) }))
  bench.after(() => targets.forEach(({ crowd }) => crowd.close()))
  for (const target of targets) await slice(site, target, warmUpSeconds)

  for (let round = 0; round < rounds; round++) {
    bench.progress(`requests, round ${round + 1} of ${rounds}`)
    const order = [...targets.keys()]
    // There, and back in the next round.
    if (round % 2 === 1) order.reverse()
    for (const at of order) {
      const way = ways[at - 1]
      const before = await way?.server.statements()
      const done = await slice(site, targets[at]!, seconds)
      for (const { label } of way ? [way.server] : servers) {
        for (const [metric, value] of samplesOf(done)) {
          bench.samples.add(way?.way ?? EMPTY_HOOK, label, metric, value)
        }
      }
      if (!way || before === undefined) continue
      const sent = (await way.server.statements()) - before
      bench.samples.add(way.way, way.server.label, STATEMENTS, sent / done.latencies.length)
    }
  }
  for (const [at, { app }] of targets.entries()) if (at > 0) await app.check()
  await site.stop()
}

interface Target {
  readonly app: App
  readonly crowd: Crowd
}

interface Slice extends Load {
  /** Microseconds: until all is done that the requests have begun, and until all is in SQL. */
  readonly cpu: number
  readonly whole: number
}

/** Lets visitors come for so long, and waits until all that they left is in SQL. */
async function slice(site: Site, { app, crowd }: Target, seconds: number): Promise<Slice> {
  const before = await site.cpu()
  const load = await crowd.run('/', seconds)
  await app.flush()
  const cpu = await site.cpu()
  // What is left to do is not to burden the contender that comes next.
  await app.finish()
  const whole = await site.cpu()
  app.served += load.latencies.length
  return { ...load, cpu: cpu - before, whole: whole - before }
}

function samplesOf({ latencies, cpu, whole }: Slice): readonly (readonly [Metric, number])[] {
  return [
    [CPU, cpu / latencies.length],
    [CPU_WHOLE, whole / latencies.length],
    [P50, quantile(latencies, 0.5)],
    [P99, quantile(latencies, 0.99)],
  ]
}
