/**
 * A turn of one contender: a new site behind nginx, which is asked again and again by one visitor,
 * as the article's processes had one request at a time. What it takes to keep a visit keeps the
 * next page waiting, if it is CPU or if the response waits.
 */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Memcached } from '../../test/servers/memcached.js'
import { behindProxy } from '../../test/servers/proxies.js'
import { openTable } from '../faults/table.js'
import type { Cores } from '../harness/cores.js'
import type { Bench } from '../harness/part.js'
import { Crowd } from '../overhead/load.js'
import { Site } from '../overhead/site.js'
import { startWorker } from '../overhead/worker.js'
import { type Contender, OTHERS } from './contenders.js'

/** Longer than what a worker or a collector waits for. */
const LATE_MS = 12_000
const WARM_UP_SECONDS = 2

export interface Setup {
  readonly bench: Bench
  readonly mariadb: MariaDb
  readonly memcached: Memcached
  readonly folder: string
  readonly renderings: number
  readonly seconds: number
  readonly alone: Cores['alone']
}

export interface Outcome {
  /** Requests, until all that they have begun is done. */
  readonly perSecond: number
  readonly served: number
  readonly counted: number
  /** Of {@link OTHERS}. */
  readonly others: number
  /** Milliseconds from each visit until it was in SQL. */
  readonly late: readonly number[]
}

export async function turn(setup: Setup, contender: Contender, name: string): Promise<Outcome> {
  const { bench, mariadb, memcached, folder, renderings, seconds, alone } = setup
  await openTable(mariadb, name, contender.table)
  const log = join(folder, name)
  const env = { memcached: memcached.address, mysqlUrl: mariadb.url(name) }
  const { peer, collect, worker: work } = contender
  const site = await Site.start(
    {
      contenders: [{ peer, ...env, ...(collect === undefined ? {} : { options: { collect } }) }],
      renderings,
      memcached: memcached.address,
    },
    bench.after,
    alone,
  )
  const app = site.apps[0]!
  const snippet = `access_log ${log} combined;\nlocation / { proxy_pass http://127.0.0.1:3000; }`
  let [perSecond, served] = [0, 0]
  await behindProxy('nginx', snippet, app.port, async (port) => {
    const worker = work === undefined ? undefined : await startWorker(bench, work, { ...env, log })
    const crowd = new Crowd(port, 1)
    // Code is compiled and tables are opened, and what that has begun is done.
    const { latencies } = await crowd.run('/page', WARM_UP_SECONDS)
    await app.flush()
    const began = performance.now()
    const measured = (await crowd.run('/page', seconds)).latencies.length
    await app.flush()
    perSecond = (measured / (performance.now() - began)) * 1000
    served = latencies.length + measured
    crowd.close()
    for (const other of OTHERS) await fetch(`http://127.0.0.1:${port}/other`, other)
    // What is still on its way takes the time that it takes on a site.
    if (bench.mode !== 'quick' && (collect ?? work) !== undefined) await delay(LATE_MS)
    await app.finish()
    await worker?.ask('close')
    await worker?.end()
    await site.stop()
  })
  return { perSecond, served, ...(await inSql(env.mysqlUrl, contender)) }
}

async function inSql(
  mysqlUrl: string,
  { table }: Contender,
): Promise<Pick<Outcome, 'counted' | 'others' | 'late'>> {
  const sql = await createConnection(mysqlUrl)
  const [rows] = await sql.query<RowDataPacket[]>(
    `SELECT page = '/other' AS other, UNIX_TIMESTAMP(arrived) * 1000 - created_at AS late ` +
      `FROM ${table}`,
  )
  await sql.end()
  const visits = rows.filter((row) => Number(row['other']) === 0)
  return {
    counted: visits.length,
    others: rows.length - visits.length,
    late: visits.map((row) => Number(row['late'])),
  }
}
