/**
 * A site that records each request: by an `INSERT` each, through mysql2 and through pg, and through
 * wide-cache on either database. All are apps of one process, as in the part `overhead`.
 */
import type { Bench, Metric } from '../harness/part.js'
import { Crowd } from '../overhead/load.js'
import { Site } from '../overhead/site.js'
import { CONNECTIONS, slice, Sum, type Target } from '../overhead/throughput.js'
import { MARIADB, POSTGRES, type Server } from './servers.js'

export const EMPTY_HOOK = 'empty hook'
export const WIDE_CACHE = 'wide-cache'
export const INSERT = 'one INSERT per visit'
export const STATEMENTS: Metric = { metric: 'statements/visit', better: 'less' }

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
  for (const target of targets) await slice(site, target, '/', warmUpSeconds)

  for (let round = 0; round < rounds; round++) {
    bench.progress(`requests, round ${round + 1} of ${rounds}`)
    const order = [...targets.keys()]
    // There, and back in the next round.
    if (round % 2 === 1) order.reverse()
    for (const at of order) {
      const way = ways[at - 1]
      const before = await way?.server.statements()
      const done = await slice(site, targets[at]!, '/', seconds)
      const sum = new Sum()
      sum.add(done)
      for (const { label } of way ? [way.server] : servers) {
        for (const [metric, value] of sum.samples()) {
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
