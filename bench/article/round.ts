/**
 * A round: a new site behind nginx for each contender. They are asked by turns, each by one visitor
 * again and again, as the article's processes had one request at a time. What it takes to keep a
 * visit keeps the next page waiting, if it is CPU or if the response waits.
 */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { RowDataPacket } from 'mysql2/promise'
import { behindProxy } from '../../test/servers/proxies.js'
import { openTable, tableOf } from '../faults/table.js'
import { asked } from '../harness/sql.js'
import { Crowd, shuffled } from '../overhead/load.js'
import { type Setup as Sites, startSite } from '../overhead/site.js'
import { startWorkers } from '../overhead/worker.js'
import { type Contender, CONTENDERS, OTHERS } from './contenders.js'

/** Longer than what a worker or a collector waits for. */
const LATE_MS = 12_000

type Setup = Sites & { readonly laps: number; readonly seconds: number }

type Running = Awaited<ReturnType<typeof start>>

/** `name`: what the names of its databases begin with. */
export async function roundOf(setup: Setup, name: string) {
  const running: Running[] = []
  for (const [at, contender] of CONTENDERS.entries()) {
    running.push(await start(setup, contender, `${name}_${at}`))
  }
  const speeds = await behindProxies(running, (ports) => visits(setup, running, ports))
  return Promise.all(
    running.map(async ({ contender, site, mysqlUrl }, at) => ({
      contender,
      /** Requests, until all that they have begun is done. */
      perSecond: speeds[at]!,
      served: site.apps[0]!.served,
      ...(await inSql(mysqlUrl, contender)),
    })),
  )
}

async function start(
  { bench, mariadb, memcached, folder, renderings, alone }: Setup,
  contender: Contender,
  database: string,
) {
  const { peer, collect, worker: work } = contender
  const mysqlUrl = await openTable(mariadb, database, peer)
  const log = join(folder, database)
  const own = { peer, mysqlUrl, ...(collect === undefined ? {} : { options: { collect } }) }
  const given = { contenders: [own], renderings, memcached: memcached.address }
  const site = await startSite(bench, given, alone)
  const env = { memcached: memcached.address, mysqlUrl, log }
  const worker = work === undefined ? undefined : await startWorkers(bench, { peer: work, env })
  return { contender, site, mysqlUrl, log, worker }
}

/** Each site has an nginx of its own, whose log has a line for each request. */
async function behindProxies<T>(
  [first, ...rest]: readonly Running[],
  use: (ports: readonly number[]) => Promise<T>,
  ports: readonly number[] = [],
): Promise<T> {
  if (!first) return use(ports)
  const pass = 'location / { proxy_pass http://127.0.0.1:3000; }'
  const snippet = `access_log ${first.log} combined;\n${pass}`
  let result: T | undefined
  await behindProxy('nginx', snippet, first.site.apps[0]!.port, async (port) => {
    result = await behindProxies(rest, use, [...ports, port])
  })
  return result!
}

/** Returns the requests a second of each. The first lap warms up. */
async function visits(
  { bench, laps, seconds }: Setup,
  running: readonly Running[],
  ports: readonly number[],
): Promise<number[]> {
  // Through nginx.
  const crowds = ports.map((port) => new Crowd({ port, served: 0 }, 1))
  const sums = running.map(() => ({ requests: 0, ms: 0 }))
  for (let lap = 0; lap <= laps; lap++) {
    for (const at of shuffled([...running.keys()])) {
      const app = running[at]!.site.apps[0]!
      const began = performance.now()
      const latencies = await crowds[at]!.run('/page', seconds)
      await app.flush()
      app.served += latencies.length
      if (lap === 0) continue
      sums[at]!.requests += latencies.length
      sums[at]!.ms += performance.now() - began
    }
  }
  for (const [at, crowd] of crowds.entries()) {
    crowd.close()
    for (const other of OTHERS) await fetch(`http://127.0.0.1:${ports[at]}/other`, other)
  }
  // What is still on its way takes the time that it takes on a site.
  if (bench.mode !== 'quick') await delay(LATE_MS)
  for (const { site, worker } of running) {
    await site.apps[0]!.finish()
    await worker?.ask('close')
    await worker?.end()
    await site.stop()
  }
  return sums.map(({ requests, ms }) => (requests / ms) * 1000)
}

async function inSql(mysqlUrl: string, { peer }: Contender) {
  const [rows] = await asked(mysqlUrl, (sql) =>
    sql.query<RowDataPacket[]>(
      `SELECT page = '/other' AS other, UNIX_TIMESTAMP(arrived) * 1000 - created_at AS late ` +
        `FROM ${tableOf(peer)}`,
    ),
  )
  const visits = rows.filter((row) => Number(row['other']) === 0)
  return {
    counted: visits.length,
    /** Of {@link OTHERS}. */
    others: rows.length - visits.length,
    /** Milliseconds from each visit until it was in SQL. */
    late: visits.map((row) => Number(row['late'])),
  }
}
