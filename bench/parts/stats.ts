/**
 * Costs of reading the figures of the last ten minutes, the history and the top pages anew, beside
 * counting the rows, as visits and visitors in the window grow; and of 1,000 callers at once that
 * find no answer anywhere.
 */
import { createConnection } from 'mysql2/promise'
import type { Activity } from '../../src/activity/activity.js'
import { memcached as openMemcached } from '../../src/cache/memcached/memcached.js'
import { MysqlDatabase } from '../../src/database/mysql/mysql.js'
import { type Chart, logChart, pointOf } from '../harness/chart.js'
import type { Bench } from '../harness/part.js'
import { median, sum } from '../harness/statistics.js'
import { number } from '../harness/table.js'
import {
  addHistory,
  analyze,
  askRows,
  multiply,
  rangeOf,
  record,
  refresh,
  windowStart,
} from '../stats/window.js'
import { less } from '../harness/samples.js'
import { rowOf } from '../harness/sql.js'
import { rotated } from '../harness/order.js'

export const REFRESH = 'activity.stats()'
export const VIEWS = 'COUNT(*)'
export const VISITORS = 'COUNT(DISTINCT visitor)'
export const CONTENDERS = [REFRESH, VIEWS, VISITORS]
export const HOURS = 'history(), 24 hours'
const DAYS = 'history(), 30 days'
export const TOP = "top('page') of a day"
const BY_HOUR = 'GROUP BY hour'
const BY_PAGE = 'GROUP BY page'
export const HISTORIES = [HOURS, DAYS, TOP, BY_HOUR, BY_PAGE]

/** Reads of the activity: a part of its queries that is in no others, and how many they are. */
const READS = {
  [REFRESH]: { method: 'stats', args: () => [], query: '%FROM activity\\_seconds%', queries: 1 },
  [HOURS]: {
    method: 'history',
    args: () => [{ ...rangeOf(1), by: 'hour' }],
    query: '%FROM activity\\_visitors%GROUP BY day, hours%',
    queries: 1,
  },
  [TOP]: {
    method: 'top',
    args: () => ['page', { ...rangeOf(1), n: 10 }],
    query: '%FROM activity\\_day\\_values%',
    // Of this measure, and of the one beside it.
    queries: 2,
  },
}
export const MS = less('ms')
export const QUERIES = less('queries')

/** Greatest ratio of a refresh's cost where there are many times as many visits. */
const MOST_GROWTH = 1.5

/** A refresh takes a millisecond or two: what a round says is the median of some. */
const REFRESHES_A_ROUND = 7

const PROCESSES = 4
const CALLERS = 1_000

/** A database whose clock can stand still, so that a window keeps its visits while others fill. */
class StoppedDatabase extends MysqlDatabase {
  #stoppedAt: number | undefined

  async stop(): Promise<void> {
    this.#stoppedAt = await super.now()
  }

  override async now(): Promise<number> {
    const now = await super.now()
    return this.#stoppedAt ?? now
  }
}

export async function run(bench: Bench): Promise<Chart> {
  const visits = bench.setting(
    'visits in the window',
    [10_000, 100_000],
    [10_000, 100_000, 1_000_000, 10_000_000],
  )
  const among = bench.setting('visitors among them', 2_000)
  const visitors = bench.setting('visitors, varied', [1_000, 10_000], [1_000, 10_000, 100_000])
  const fixed = bench.setting('visits while visitors vary', 10_000, 100_000)
  const rounds = bench.setting('rounds', [3, 3], [9, 9, 9, 3], [15, 15, 15, 9])
  const stampedes = bench.setting('stampedes', 3, 10, 50)

  const servers = await start(bench)
  const few = await site(bench, servers, visits[0]!, among)
  // First of all: these processes ask a database whose clock goes on.
  for (const read of Object.keys(READS) as (keyof typeof READS)[]) {
    await callersAtOnce(bench, servers, few, stampedes, read)
  }
  await Promise.all(servers.askers.map((child) => child.ask('close')))

  const sites = [few]
  for (const size of visits.slice(1)) sites.push(await site(bench, servers, size, among))
  const crowds: Site[] = []
  for (const crowd of visitors) crowds.push(await site(bench, servers, fixed, crowd))
  const most = Math.max(...rounds)
  for (let round = 0; round < most; round++) {
    for (const one of [...sites, ...crowds]) {
      const index = sites.indexOf(one)
      if (round >= (rounds[index] ?? most)) continue
      const contenders = index >= 0 ? [...CONTENDERS, ...HISTORIES] : CONTENDERS
      for (const contender of rotated(contenders, round)) {
        bench.progress(
          `${one.setting}, round ${round + 1} of ${rounds[index] ?? most}: ${contender}`,
        )
        bench.samples.add(contender, one.setting, MS, await ask(contender, one, servers))
      }
    }
  }
  const many = sites.at(-1)!
  for (const read of [HOURS, DAYS, TOP, REFRESH]) {
    const before = bench.samples.of(read, few.setting, MS)
    const after = bench.samples.of(read, many.setting, MS)
    const growth = median(after.map((ms, round) => ms / before[round]!))
    const [what, where] = read === REFRESH ? ['A refresh', ' in the window'] : [read, '']
    bench.claim(
      `${what} costs with ${number(many.visits)} visits${where} at most ${MOST_GROWTH} times ` +
        `what it costs with ${number(few.visits)} (${number(growth)} times)`,
      growth <= MOST_GROWTH,
    )
  }
  return logChart(
    'What the figures of the last ten minutes cost, by visits in the window',
    'visits in the window',
    'ms',
    CONTENDERS.map((name) => ({
      name,
      points: sites.map(({ visits: x, setting }) =>
        pointOf(x, bench.samples.spread(name, setting, MS)),
      ),
    })),
  )
}

type Servers = Awaited<ReturnType<typeof start>>

/** `log`: a connection to the log of statements; `askers`: processes that ask for the figures. */
async function start(bench: Bench) {
  const memcached = await bench.memcached({ memoryMb: 256 })
  const pool = bench.setting('buffer pool', '512M', '4G')
  const mariadb = await bench.mariadb([`--innodb-buffer-pool-size=${pool}`, '--log-output=TABLE'])
  const cache = bench.closing(openMemcached(memcached.address, { timeoutMs: 10_000 }))
  const log = bench.closing(await createConnection(mariadb.url('mysql')))
  const program = new URL('../stats/asking.js', import.meta.url)
  const askers = Array.from({ length: PROCESSES }, () => bench.child(program))
  return { memcached, mariadb, cache, log, askers }
}

type Site = Awaited<ReturnType<typeof site>>

/**
 * A site in a database of its own, with so many visits in its window, and figures that are those of
 * its rows.
 */
async function site(
  bench: Bench,
  { mariadb, memcached, cache }: Servers,
  visits: number,
  visitors: number,
) {
  const setting = `${number(visits)} visits, ${number(visitors)} visitors`
  bench.progress(`filling: ${setting}`)
  const name = `stats_${visits}_${visitors}`
  const url = await mariadb.createDatabase(name)
  const database = bench.closing(new StoppedDatabase(url))
  const sql = bench.closing(await createConnection(url))
  // The grid of the site before is not this one's.
  await memcached.flush()
  // Through the grid as far as that is quick; SQL makes more of the same, and the counts must come
  // out the same.
  const recorded = Math.max(visitors, Math.min(visits, 10_000))
  await record(cache, database, recorded, visitors)
  await database.stop()
  if (visits > recorded) await multiply(sql, visits / recorded)
  /** Start of the hour of the first visit. */
  const firstHour = await addHistory(sql)
  await analyze(sql)
  const from = await windowStart(sql)
  return { setting, visits, visitors, sql, database, url, from, firstHour }
}

/** What an answer says, each beside what it should say. */
type Said = readonly (readonly [said: number | undefined, wanted: number])[]

const BY_ACTIVITY: Readonly<Record<string, (it: Activity, site: Site) => Promise<Said>>> = {
  async [REFRESH](it, { visits, visitors }) {
    const stats = await it.stats()
    return [
      [stats.pageViews, visits],
      [stats.visitors, visitors],
    ]
  },
  async [HOURS](it, { visits, firstHour }) {
    const hours = await it.history({ ...rangeOf(1), by: 'hour' })
    const own = hours.filter(({ start }) => Date.parse(start) >= firstHour)
    return [[sum(own.map(({ pageViews }) => pageViews ?? 0)), visits]]
  },
  async [DAYS](it) {
    const days = await it.history({ ...rangeOf(30), by: 'day' })
    return [[Math.min(days.length, 30), 30]]
  },
  [TOP]: async (it) => [[(await it.top('page', { ...rangeOf(1), n: 10 })).length, 10]],
}

type AskRows = (columns: string, more?: string) => Promise<number[]>

/** As a site without sums asks. */
const BY_ROWS: Readonly<Record<string, (ask: AskRows, site: Site) => Promise<Said>>> = {
  [VIEWS]: async (ask, { visits }) => [[(await ask('COUNT(*) AS n'))[0], visits]],
  [VISITORS]: async (ask, { visitors }) => [
    [(await ask('COUNT(DISTINCT visitor) AS n'))[0], visitors],
  ],
  async [BY_HOUR](ask, { visits }) {
    const columns = 'created_at DIV 3600000 AS hour, COUNT(*) AS n, COUNT(DISTINCT visitor)'
    return [[sum(await ask(columns, 'GROUP BY hour')), visits]]
  },
  async [BY_PAGE](ask) {
    const most = await ask('page, COUNT(*) AS n', 'GROUP BY page ORDER BY n DESC LIMIT 10')
    return [[most.length, 10]]
  },
}

/** Milliseconds that one way to the figures takes. @throws Error if they are wrong */
async function ask(contender: string, site: Site, { cache, memcached }: Servers): Promise<number> {
  const { database, sql, from, setting } = site
  const [read, askSql] = [BY_ACTIVITY[contender], BY_ROWS[contender]]
  const times: number[] = []
  while (times.length < (contender === REFRESH ? REFRESHES_A_ROUND : 1)) {
    const began = performance.now()
    const { ms = performance.now() - began, answer } = read
      ? await refresh(cache, memcached, database, (it) => read(it, site))
      : { answer: await askSql!((columns, more) => askRows(sql, from, columns, more), site) }
    for (const [said, wanted] of answer) {
      if (said !== wanted) throw new Error(`${setting}: ${contender} says ${said}, not ${wanted}`)
    }
    times.push(ms)
  }
  return median(times)
}

/**
 * All callers at once in some processes, none of which has the answer, nor has the cache: how often
 * SQL is asked.
 */
async function callersAtOnce(
  bench: Bench,
  { memcached, log, askers }: Servers,
  { url, visits, visitors }: Site,
  times: number,
  read: keyof typeof READS,
): Promise<void> {
  const { method, args, query, queries: needed } = READS[read]
  const setting = `${number(CALLERS)} callers at once`
  for (let time = 0; time < times; time++) {
    bench.progress(`${number(CALLERS)} callers at once of ${read}, ${time + 1} of ${times}`)
    const given = { memcached: memcached.address, mysqlUrl: url }
    await Promise.all(askers.map((child) => child.ask('prepare', given)))
    await memcached.flush()
    await log.query('TRUNCATE general_log')
    await log.query('SET GLOBAL general_log = ON')
    const call = { callers: CALLERS / PROCESSES, method, args: args() }
    const replies = await Promise.all(
      askers.map((child) => child.ask<{ ms: number; answers: string[] }>('call', call)),
    )
    await log.query('SET GLOBAL general_log = OFF')
    const answers = new Set(replies.flatMap(({ answers }) => answers))
    const [first] = answers
    const figures = JSON.parse(first ?? '{}') as { pageViews?: number; visitors?: number }
    const wrong =
      read === REFRESH && (figures.pageViews !== visits || figures.visitors !== visitors)
    if (answers.size !== 1 || wrong) {
      throw new Error(`1,000 callers were answered ${[...answers].join(' and ')}`)
    }
    const { n: queries } = await rowOf<'n'>(
      log,
      "SELECT COUNT(*) AS n FROM general_log WHERE command_type IN ('Query', 'Execute') " +
        'AND argument LIKE ?',
      [query],
    )
    // They found no answer anywhere, so one of them at least has asked.
    if (queries === 0) throw new Error(`${read}: no query in the log is like ${query}`)
    bench.samples.add(read, setting, MS, Math.max(...replies.map(({ ms }) => ms)))
    bench.samples.add(read, setting, QUERIES, queries)
  }
  const asked = bench.samples.of(read, setting, QUERIES)
  const [most, all] = [Math.max(...asked), sum(asked)]
  bench.claim(
    `${number(CALLERS)} callers of ${read} at once in ${PROCESSES} processes who find no ` +
      `answer cause one read, of ${needed === 1 ? 'one query' : `${needed} queries`} ` +
      `(${all} in ${times} times, never more than ${most})`,
    most === needed && all === needed * times,
  )
}
