/**
 * Counters, sequence, map and hits, each beside plain SQL, on one memcached and one MariaDB that is
 * as durable as MySQL 8 is by default: at each commit both the log of InnoDB and the binary log are
 * on the disk. MariaDB by default has no binary log, so what hangs on it most is raced on a second
 * server, without.
 */
import { type Database, mysql } from '../../src/index.js'
import { type Chart, logChart, pointOf } from '../harness/chart.js'
import type { Bench } from '../harness/part.js'
import { withSpread } from '../harness/table.js'
import * as apart from '../relatives/apart.js'
import { exports } from '../relatives/exports.js'
import * as numbers from '../relatives/numbers.js'
import * as sharded from '../relatives/sharded-counter.js'
import { CALLERS, CONNECTIONS, type Lap, of } from '../relatives/race.js'
import { viewers } from '../relatives/viewers.js'
import { views } from '../relatives/views.js'
import { IN_PLACE, MAP, wordCount, WRITERS } from '../relatives/word-count.js'
import { rotated } from '../harness/order.js'

const DURABLE = [
  '--innodb-flush-log-at-trx-commit=1',
  '--innodb-buffer-pool-size=256M',
  '--max-connections=500',
]
/** As MySQL 8 does by default: transactions hold their locks until the log is on disk. */
const BINARY_LOG = ['--log-bin=binlog', '--sync-binlog=1', '--server-id=1']

export async function run(bench: Bench): Promise<Chart> {
  const { laps, processes, most } = await open(bench)
  const rounds = bench.setting('rounds', 1, 5, 15)
  const warmUpMs = bench.setting('milliseconds to warm up', 50, 200)
  for (const { race, callers } of laps) {
    bench.progress(`warming up: ${race.name}`)
    for (const contender of race.contenders) {
      await contender.run(callers.includes(CALLERS) ? CALLERS : WRITERS, warmUpMs)
    }
  }
  bench.progress('warming up: a process each')
  await processes.counters.warmUp(processes.calls)
  for (let round = 0; round < rounds; round++) {
    for (const lap of laps) await raced(bench, lap, round, `round ${round + 1} of ${rounds}`)
    for (const count of processes.counts) {
      bench.progress(`round ${round + 1} of ${rounds}: a process each, ${count}`)
      await processes.counters.round(count, processes.ms, round)
    }
  }
  for (const { race } of laps) await race.check?.()
  await processes.counters.check()
  await most()
  claims(bench)
  return chart(bench, laps)
}

async function open(bench: Bench) {
  const [mariadb, unlogged, memcached] = await Promise.all([
    bench.mariadb([...DURABLE, ...BINARY_LOG]),
    bench.mariadb(DURABLE),
    bench.memcached(),
  ])
  bench.setting('connections', CONNECTIONS)
  const callers = bench.setting(
    'callers',
    [1, CALLERS],
    [1, 8, 32, CALLERS, 128],
    [1, 2, 4, 8, 16, 32, CALLERS, 128],
  )
  const ms = bench.setting('milliseconds a sample', 60, 60, 500)
  const claimMs = bench.setting(`milliseconds a sample of ${CALLERS} callers`, 120, 200, 1000)
  const writers = bench.setting(
    'writers of documents',
    [1, WRITERS],
    [1, 4, WRITERS, 128],
    [1, 2, 4, 8, 16, WRITERS, 64, 128],
  )
  const documentsMs = bench.setting('milliseconds a sample of documents', 200, 250, 4000)
  const mysqlUrl = mariadb.url()
  const database = await opened(bench, mysqlUrl)
  const { address } = memcached
  const processes = {
    counters: await apart.apart(bench, mariadb, [...DURABLE, ...BINARY_LOG], memcached.address),
    counts: bench.setting(
      'processes with a caller each',
      [1, apart.MOST_PROCESSES],
      [1, 4, apart.MOST_PROCESSES],
    ),
    calls: bench.setting('calls of a process each to warm up', 20, 1_000),
    ms: bench.setting('milliseconds a sample of a process each', 100, 200, 1000),
  }
  const count = bench.setting('viewers of one item', 5_000, 1_000_000)
  const most = () => viewers(bench, mariadb, memcached.address, count)
  const { globalCounter, sequence } = await numbers.numbers(bench, database, mysqlUrl, address)
  const own = await opened(bench, unlogged.url())
  const { shardedCounter, UNLOGGED } = sharded
  const laps: Lap[] = [
    { race: await shardedCounter(bench, database, mysqlUrl), callers, ms, claimMs },
    {
      race: await shardedCounter(bench, own, unlogged.url(), UNLOGGED),
      callers: [CALLERS],
      ms,
      claimMs,
    },
    { race: globalCounter, callers, ms },
    { race: sequence, callers, ms, claimMs },
    { race: await wordCount(bench, mysqlUrl), callers: writers, ms: documentsMs },
    { race: await exports(bench, mysqlUrl), callers: writers, ms },
    { race: await views(bench, database, mysqlUrl, address), callers, ms },
  ]
  return { laps, processes, most }
}

async function opened(bench: Bench, mysqlUrl: string): Promise<Database> {
  const database = bench.closing(mysql(`${mysqlUrl}?connectionLimit=${CONNECTIONS}`))
  await database.migrate()
  return database
}

/**
 * All contenders of a race right after each other, with each number of callers, each round in
 * another order.
 */
async function raced(
  bench: Bench,
  { race, callers, ms, claimMs = ms }: Lap,
  round: number,
  what: string,
): Promise<void> {
  for (const count of callers) {
    bench.progress(`${what}: ${race.name}, ${of(count)}`)
    const contenders = race.contenders.filter(
      (contender) => contender.callers?.includes(count) ?? true,
    )
    for (const contender of rotated(contenders, round)) {
      const done = await contender.run(count, count === CALLERS ? claimMs : ms)
      bench.samples.add(contender.name, of(count), race.metric, done.rate)
      bench.samples.addLatencies(contender.name, of(count), done.latencies)
    }
  }
}

function claims(bench: Bench): void {
  const ratio = (ours: string, theirs: string, callers: number, metric: string) =>
    bench.samples.ratio(ours, theirs, of(callers), { metric, better: 'more' })
  for (const [claim, ours, theirs, least] of [
    [
      `ShardedCounter does at least 10 times what a single-row UPDATE does under ${CALLERS} ` +
        'callers',
      sharded.COALESCING,
      sharded.BASELINE,
      10,
    ],
    [
      `without coalescing 20 shards do more than 1 under ${CALLERS} callers`,
      sharded.UNSHARED.twenty,
      sharded.UNSHARED.one,
      1,
    ],
  ] as const) {
    const [logged, unlogged] = ['', sharded.UNLOGGED].map((suffix) =>
      ratio(ours + suffix, theirs + suffix, CALLERS, 'increments/s'),
    )
    bench.claim(
      `${claim}: ${withSpread(logged!)} times; on a server without a binary log ` +
        `${withSpread(unlogged!)} times`,
      logged!.median > least,
    )
  }
  const [large, small] = [numbers.LARGER_SEQUENCE, numbers.SEQUENCE].map((ours) =>
    ratio(ours, numbers.LAST_INSERT_ID, CALLERS, 'numbers/s'),
  )
  bench.claim(
    `Sequence does at least 20 times what LAST_INSERT_ID(n + 1) does under ${CALLERS} ` +
      `callers: ${withSpread(small!)} times; ` +
      `with a block of 1,000 instead of 100 ${withSpread(large!)} times`,
    small!.median >= 20,
  )
  const [byWord, sorted, one] = [IN_PLACE.byWord, IN_PLACE.sorted, IN_PLACE.one].map((way) =>
    ratio(MAP, way, WRITERS, 'documents/s'),
  )
  bench.claim(
    'CollisionFreeMap does at least 5 times what a transaction does that updates the counts ' +
      `in place, with ${WRITERS} documents at once: ${withSpread(byWord!)} times, word by ` +
      'word; ' +
      `with the words sorted, so that there are no deadlocks, ${withSpread(sorted!)} times; ` +
      `all in one sorted statement ${withSpread(one!)} times`,
    byWord!.median >= 5,
  )
  claimApart(bench)
}

function claimApart(bench: Bench): void {
  const { INCREMENTS, MOST_PROCESSES, ONE_ROW, PLACES, SHARDED } = apart
  for (const [place, why] of [
    [PLACES.away, 'a caller waits longer for its answer, but a row is locked no longer than near'],
    [PLACES.replica, 'a row is locked until the replica has the change'],
  ] as const) {
    const setting = apart.settingOf(MOST_PROCESSES, place)
    const ratio = bench.samples.ratio(SHARDED, ONE_ROW, setting, INCREMENTS)
    bench.claim(
      `${place}, ${MOST_PROCESSES} callers in a process each: ShardedCounter does at least 3 ` +
        `times what one row does: ${withSpread(ratio)} times (${why})`,
      ratio.median >= 3,
    )
  }
}

function chart(bench: Bench, laps: readonly Lap[]): Chart {
  const lines = laps
    .filter(({ callers }) => callers.length > 1)
    .map(({ race, callers }) => {
      const [baseline, ours] = race.contenders.map(({ name }) => name)
      const times = (count: number) => bench.samples.ratio(ours!, baseline!, of(count), race.metric)
      return { name: race.name, points: callers.map((count) => pointOf(count, times(count))) }
    })
  return logChart('Times the throughput of plain SQL', 'callers', 'times', lines)
}
