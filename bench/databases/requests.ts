/**
 * A site that records each request: by an `INSERT` each, through mysql2 and through pg, and through
 * wide-cache on either database. All are apps of one process.
 */
import type { Bench } from '../harness/part.js'
import { CPU, CPU_WHOLE } from '../overhead/contenders.js'
import { CONNECTIONS } from '../overhead/full-load.js'
import { Crowd } from '../overhead/load.js'
import { type App, type Site, startSite } from '../overhead/site.js'
import { MARIADB, POSTGRES, type Server } from './servers.js'
import { less } from '../harness/samples.js'

export const EMPTY_HOOK = 'empty hook'
export const WIDE_CACHE = 'wide-cache'
export const INSERT = 'one INSERT per visit'
export const STATEMENTS = less('statements/visit')

const PEERS = [
  [WIDE_CACHE, { [MARIADB]: 'wide-cache', [POSTGRES]: 'wide-cache' }],
  [INSERT, { [MARIADB]: 'insert-per-visit', [POSTGRES]: 'insert-per-visit-pg' }],
] as const

/** `seconds`: of each contender in each round. */
export type Pace = Readonly<Record<'rounds' | 'seconds' | 'warmUpSeconds', number>>

/** The settings of the samples are the databases; the hook, which has none, is in both. */
export async function requests(
  bench: Bench,
  servers: readonly Server[],
  memcached: string,
  { rounds, seconds, warmUpSeconds }: Pace,
): Promise<void> {
  const ways = await Promise.all(
    PEERS.flatMap(([way, peers], at) =>
      servers.map(async (server) => {
        const name = `requests_${at}`
        const url = await server.create(name)
        await server.counted(name)
        return { way, server, contender: { peer: peers[server.label], ...server.given(url) } }
      }),
    ),
  )
  const contenders = [{ peer: 'empty-hook', mysqlUrl: '' }, ...ways.map((way) => way.contender)]
  const given = { contenders, renderings: 1, memcached }
  const site = await startSite(bench, given)
  const targets = site.apps.map((app) => ({ app, crowd: new Crowd(app, CONNECTIONS) }))
  bench.after(() => targets.forEach(({ crowd }) => crowd.close()))
  for (const target of targets) await slice(site, target, warmUpSeconds)

  for (let round = 0; round < rounds; round++) {
    bench.progress(`requests, round ${round + 1} of ${rounds}`)
    const order = [...targets.entries()]
    // There, and back in the next round.
    if (round % 2 === 1) order.reverse()
    for (const [at, target] of order) {
      const { way = EMPTY_HOOK, server } = ways[at - 1] ?? {}
      const before = await server?.statements()
      const { latencies, cpu, whole } = await slice(site, target, seconds)
      for (const { label } of server ? [server] : servers) {
        bench.samples.add(way, label, CPU, cpu / latencies.length)
        bench.samples.add(way, label, CPU_WHOLE, whole / latencies.length)
        bench.samples.addLatencies(way, label, latencies)
      }
      if (!server || before === undefined) continue
      const sent = (await server.statements()) - before
      bench.samples.add(way, server.label, STATEMENTS, sent / latencies.length)
    }
  }
  for (const { app } of targets.slice(1)) await app.check()
  await site.stop()
}

/**
 * Lets visitors come for so long, and waits until all that they left is in SQL. Microseconds of CPU
 * until all is done that the requests have begun, and until then.
 */
async function slice(site: Site, { app, crowd }: { app: App; crowd: Crowd }, seconds: number) {
  const before = await site.cpu()
  const latencies = await crowd.run('/', seconds)
  await app.flush()
  const cpu = (await site.cpu()) - before
  // What is left to do is not to burden the contender that comes next.
  await app.finish()
  return { latencies, cpu, whole: (await site.cpu()) - before }
}
