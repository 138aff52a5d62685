/**
 * A counter whose callers are in a process each, so that nobody shares a transaction: one row
 * beside a `ShardedCounter`. The database is near, or a round trip takes longer, or each commit
 * waits until a replica that is as far away has it: there one row can be changed only once a round
 * trip.
 */
import mysql, { type RowDataPacket } from 'mysql2/promise'
import { ShardedCounter } from '../../src/counters/index.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Child } from '../harness/child.js'
import type { Bench } from '../harness/part.js'
import { start as startRow } from '../peers/update-one-row.js'
import { more } from '../harness/samples.js'
import { rowOf, urlThrough } from '../harness/sql.js'

export const ONE_ROW = 'one row, a process each'
export const SHARDED = 'ShardedCounter, a process each'
export const INCREMENTS = more('increments/s')

/** Number of processes that the target is for. */
export const MOST_PROCESSES = 16
const AWAY_MS = 2
export const PLACES = {
  near: 'database near',
  away: `database ${AWAY_MS} ms away`,
  replica: `replica ${AWAY_MS} ms away`,
} as const
const SHARDS = 20
const PROGRAM = new URL('./caller.js', import.meta.url)
/** As MySQL's default: a commit keeps its locks until the replica has it. */
const SEMI_SYNCHRONOUS = [
  '--rpl-semi-sync-master-wait-point=AFTER_SYNC',
  // Longer than the part takes: without the replica it would fall back to waiting for nobody.
  '--rpl-semi-sync-master-timeout=600000',
]
const REPLICA = ['--server-id=2', '--rpl-semi-sync-slave-enabled=ON']
const CONNECTED_MS = 10_000

type Counter = Awaited<ReturnType<typeof both>>[number]

export function settingOf(processes: number, place: string): string {
  return `${processes === 1 ? '1 process' : `${processes} processes`}, ${place}`
}

/**
 * `options`: of the server, which is as durable as MySQL's default. `memcachedAddress`:
 * `host:port`.
 */
export async function apart(
  bench: Bench,
  mariadb: MariaDb,
  options: readonly string[],
  memcachedAddress: string,
) {
  const replicated = await bench.mariadb([...options, ...SEMI_SYNCHRONOUS])
  await replicate(bench, replicated)
  const counters = [
    ...(await both(mariadb, PLACES.near, mariadb.url())),
    ...(await both(mariadb, PLACES.away, urlThrough(await proxy(bench, mariadb), mariadb.url()))),
    ...(await both(replicated, PLACES.replica, replicated.url())),
  ]
  const callers = Array.from({ length: MOST_PROCESSES }, () => bench.child(PROGRAM))
  for (const caller of callers) {
    await caller.ask('open', { counters, memcached: memcachedAddress })
  }
  const called = counters.map(() => 0)
  async function warmUp(at: number, processes: number, calls: number): Promise<void> {
    await Promise.all(
      callers.slice(0, processes).map((caller) => caller.ask('warmUp', { counter: at, calls })),
    )
    called[at]! += processes * calls
  }
  async function call(at: number, processes: number, ms: number) {
    // One that has been idle for a while connects anew, as no busy process has to.
    await warmUp(at, processes, 1)
    const ask = (caller: Child) =>
      caller.ask<{ latencies: number[]; seconds: number }>('call', { counter: at, ms })
    const done = await Promise.all(callers.slice(0, processes).map(ask))
    const latencies = done.flatMap((one) => one.latencies)
    called[at]! += latencies.length
    return { latencies, seconds: Math.max(...done.map((one) => one.seconds)) }
  }
  return {
    /**
     * All callers call both counters so often, near, and once elsewhere: web processes run for
     * days, and the compiler has seen what they do.
     */
    async warmUp(calls: number): Promise<void> {
      for (const [at, { place }] of counters.entries()) {
        await warmUp(at, callers.length, place === PLACES.near ? calls : 1)
      }
    },
    /** One sample of each, the callers in so many processes for so long. */
    async round(processes: number, ms: number, order: number): Promise<void> {
      for (const step of counters.keys()) {
        const at = (step + order) % counters.length
        const { latencies, seconds } = await call(at, processes, ms)
        const { place, shards } = counters[at]!
        const contender = shards === 0 ? ONE_ROW : SHARDED
        const setting = settingOf(processes, place)
        bench.samples.add(contender, setting, INCREMENTS, latencies.length / seconds)
        bench.samples.addLatencies(contender, setting, latencies)
      }
    },
    /** @throws Error if a counter has not counted each call once */
    async check(): Promise<void> {
      for (const [at, counter] of counters.entries()) {
        const total = await totalOf(counter)
        if (total !== called[at]) {
          throw new Error(`${counter.name}, ${counter.place}: ${called[at]} calls make ${total}`)
        }
      }
    },
  }
}

/** A database of its own for each place, with one of both counters. */
async function both(mariadb: MariaDb, place: string, url: string) {
  const database = place.replaceAll(' ', '_')
  await mariadb.createDatabase(database)
  const mysqlUrl = new URL(url)
  mysqlUrl.pathname = database
  return [0, SHARDS].map((shards) => ({
    place,
    name: `counter_${shards}`,
    /** As callers reach it. */
    mysqlUrl: mysqlUrl.href,
    /** 0: one row. */
    shards,
  }))
}

async function totalOf({ name, mysqlUrl, shards }: Counter): Promise<number> {
  if (shards === 0) {
    const row = await startRow({ mysqlUrl, connections: 1, table: name })
    return row.total().finally(() => row.close())
  }
  const counter = new ShardedCounter({ name, database: mysqlUrl, cache: 'memory:' })
  return counter.get({ exact: true }).finally(() => counter.close())
}

/** The port of a way to the server whose answers come later. */
async function proxy(bench: Bench, { port }: MariaDb): Promise<number> {
  const away = await bench.proxy(`127.0.0.1:${port}`)
  away.delay(AWAY_MS)
  return away.port
}

/** Gives `primary` a replica that is as far away, and waits until it is connected. */
async function replicate(bench: Bench, primary: MariaDb): Promise<void> {
  const [replica, port] = await Promise.all([bench.mariadb(REPLICA), proxy(bench, primary)])
  const { username, password } = new URL(primary.url())
  const ours = bench.closing(await mysql.createConnection(primary.url()))
  const theirs = bench.closing(await mysql.createConnection(replica.url()))
  const [[position]] = await ours.query<RowDataPacket[]>('SHOW MASTER STATUS')
  await theirs.query(
    'CHANGE MASTER TO MASTER_HOST = ?, MASTER_PORT = ?, MASTER_USER = ?, MASTER_PASSWORD = ?, ' +
      'MASTER_LOG_FILE = ?, MASTER_LOG_POS = ?',
    ['127.0.0.1', port, username, password, position!['File'], Number(position!['Position'])],
  )
  // Only now, and with no commit until the replica is there: it would wait for nobody.
  await ours.query('SET GLOBAL rpl_semi_sync_master_enabled = ON')
  await theirs.query('START SLAVE')
  const deadline = performance.now() + CONNECTED_MS
  const clients = "SHOW STATUS LIKE 'Rpl_semi_sync_master_clients'"
  while ((await rowOf<'Value'>(ours, clients)).Value === 0) {
    if (performance.now() > deadline) throw new Error('the replica has not connected')
  }
}
