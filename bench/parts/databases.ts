/**
 * The package on MariaDB and on PostgreSQL, by turns in one run: commits of a drain, retention,
 * figures, counters and their relatives, and a site that records its requests.
 */
import { memcached as openMemcached } from '../../src/cache/memcached/memcached.js'
import type { Activity } from '../../src/index.js'
import type { Database } from '../../src/database/database.js'
import { CALLS, type Calls, callsOn } from '../databases/calls.js'
import { requests, STATEMENTS, WIDE_CACHE } from '../databases/requests.js'
import { MARIADB, POSTGRES, type Server, startServers } from '../databases/servers.js'
import { barChart, barOf, type Chart } from '../harness/chart.js'
import type { Bench } from '../harness/part.js'
import { median } from '../harness/statistics.js'
import { number } from '../harness/table.js'
import { bring, removeAll, speedOf } from '../retention/removal.js'
import { rangeOf, record, refresh } from '../stats/window.js'
import { less, more } from '../harness/samples.js'

export const COMMIT = 'commit'
export const REMOVE = 'removal'
export const STATS = 'stats()'
export const TOP = "top('page') of a day"
export const ROWS_PER_SECOND = more('rows/s')
export const CPU_A_ROW = less('CPU µs/row')
export const MS = less('ms')
export const RATE = more('calls/s')

const WARM_UPS = 2
/** The first commit of a database opens its connections. */
const WARM_UP_ROWS = 1_000
const READS_A_ROUND = 7
const FILLED = 'filled'
const VISITORS = 2_000
const MEMORY_MB = 512
/** Far less than one. */
const MOST_STATEMENTS = 0.05

/** One server, and what is measured on it. */
interface Place {
  readonly server: Server
  readonly filled: Database
  readonly calls: Calls
}

export async function run(bench: Bench): Promise<Chart> {
  const rounds = bench.setting('rounds', 2, 10, 40)
  const rows = bench.setting('rows of a round', 4_000, 40_000, 400_000)
  const visits = bench.setting('visits in the window', 4_000, 100_000)
  const callers = bench.setting('callers', 32)
  const ms = bench.setting('milliseconds of a sample of calls', 60, 250)
  const pace = {
    rounds: bench.setting('rounds of requests', 2, 10, 40),
    seconds: bench.setting('seconds of a round of requests', 0.3, 1),
    warmUpSeconds: bench.setting('warm-up, seconds of requests', 0.3, 2),
  }

  const [servers, memcached] = await Promise.all([
    startServers(bench),
    bench.memcached({ memoryMb: MEMORY_MB }),
  ])
  const cache = bench.closing(openMemcached(memcached.address, { timeoutMs: 10_000 }))
  const places: Place[] = []
  for (const server of servers) {
    const database = await opened(bench, server, 'calls')
    const calls = bench.closing(await callsOn(database, memcached.address, server.nextval))
    places.push({ server, filled: await opened(bench, server, FILLED), calls })
  }

  await byTurns(bench, 'rows', places, rounds, async ({ server }, round, add) => {
    // Closed days stay closed: a round has a database of its own.
    const name = `drained_${round + WARM_UPS}`
    const database = await opened(bench, server, name)
    await bring(database, WARM_UP_ROWS)
    const cpu = process.cpuUsage()
    const commits = await bring(database, rows)
    const { user, system } = process.cpuUsage(cpu)
    add(server.label, COMMIT, ROWS_PER_SECOND, speedOf(commits))
    add(server.label, COMMIT, CPU_A_ROW, (user + system) / rows)
    await server.analyze(name)
    add(server.label, REMOVE, ROWS_PER_SECOND, speedOf(await removeAll(database)))
    await database.close()
  })

  bench.progress('filling')
  // At once, so that both have the same age.
  await Promise.all(places.map(({ filled }) => record(cache, filled, visits, VISITORS)))
  for (const { server } of places) await server.analyze(FILLED)
  await byTurns(bench, 'figures', places, rounds, async ({ server, filled }, _, add) => {
    const stats = async (activity: Activity): Promise<void> => {
      const { pageViews } = await activity.stats()
      // On a slow machine the oldest have left the window.
      if (pageViews < visits / 2 || pageViews > visits) {
        throw new Error(`stats() says ${pageViews} of ${visits} views`)
      }
    }
    const top = async (activity: Activity): Promise<void> => {
      const { length } = await activity.top('page', { ...rangeOf(1), n: 10 })
      if (length !== 10) throw new Error(`top() has ${length} pages`)
    }
    for (const [read, name] of [
      [stats, STATS],
      [top, TOP],
    ] as const) {
      // A read takes a millisecond or two: what a round says is the median of some.
      const all: number[] = []
      while (all.length < READS_A_ROUND) {
        all.push((await refresh(cache, memcached, filled, read)).ms)
      }
      add(server.label, name, MS, median(all))
    }
  })

  for (const [at, name] of Object.values(CALLS).entries()) {
    await byTurns(bench, name, places, rounds, async ({ server, calls }, _, add) => {
      add(server.label, name, RATE, (await calls.contenders[at]!.run(callers, ms)).rate)
    })
  }
  await requests(bench, servers, memcached.address, pace)

  for (const { label } of servers) {
    const sent = bench.samples.spread(WIDE_CACHE, label, STATEMENTS).median
    const text = `wide-cache on ${label} sends at most ${MOST_STATEMENTS} statements per visit`
    // A few requests have the collector's statements to themselves.
    if (bench.mode !== 'quick') bench.claim(`${text} (${number(sent)})`, sent <= MOST_STATEMENTS)
  }
  const rates = [
    [COMMIT, ROWS_PER_SECOND],
    [REMOVE, ROWS_PER_SECOND],
    ...Object.values(CALLS).map((name) => [name, RATE] as const),
  ] as const
  return barChart(
    'Rates on PostgreSQL, those on MariaDB being 1',
    'times',
    rates.map(([setting, metric]) =>
      barOf(setting.replace(/,.*/, ''), bench.samples.ratio(POSTGRES, MARIADB, setting, metric)),
    ),
  )
}

/** A database with the tables, and nothing in them. */
async function opened(bench: Bench, server: Server, name: string): Promise<Database> {
  const database = bench.closing(server.open(await server.create(name)))
  await database.migrate()
  return database
}

/** One at a time: there, and back in the next round. The first rounds warm up. */
async function byTurns(
  bench: Bench,
  name: string,
  places: readonly Place[],
  rounds: number,
  work: (place: Place, round: number, add: Bench['samples']['add']) => Promise<void>,
): Promise<void> {
  for (let round = -WARM_UPS; round < rounds; round++) {
    bench.progress(`${name}, round ${round + 1} of ${rounds}`)
    const order = round % 2 === 0 ? places : places.toReversed()
    for (const place of order) {
      await work(place, round, (...sample) => {
        if (round >= 0) bench.samples.add(...sample)
      })
    }
  }
}
