/**
 * What the figures of the last ten minutes cost when they are read anew, beside counting the rows,
 * as the visits in the window grow, and as the visitors do; and what 1,000 callers at once cost who
 * find no figures anywhere.
 */
import { type Connection, type RowDataPacket, createConnection } from 'mysql2/promise'
import type { Memcached } from '../../test/servers/memcached.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Cache } from '../../src/cache/cache.js'
import { memcached as openMemcached } from '../../src/cache/memcached/memcached.js'
import { MysqlDatabase } from '../../src/database/mysql/mysql.js'
import { Child } from '../harness/child.js'
import type { Bench, Part, Report } from '../harness/part.js'
import { type Spread, median, spread } from '../harness/statistics.js'
import { number, withSpread } from '../harness/table.js'
import {
  analyze,
  countViews,
  countVisitors,
  multiply,
  record,
  refresh,
  windowStart,
} from '../stats/window.js'

const REFRESH = 'activity.stats()'
const VIEWS = 'COUNT(*)'
const VISITORS = 'COUNT(DISTINCT visitor)'
const CONTENDERS = [REFRESH, VIEWS, VISITORS]
const MS = { metric: 'ms', better: 'less' } as const

/** Of many times as many visits the refresh may cost at most so much more: as good as nothing. */
const MOST_GROWTH = 1.5

/** A refresh takes a millisecond or two: what a round says is the median of some. */
const REFRESHES_A_ROUND = 7

const PROCESSES = 4
const CALLERS = 1_000

/** A site, in a database of its own. */
interface Site {
  readonly setting: string
  readonly visits: number
  readonly visitors: number
  readonly sql: Connection
  readonly database: MysqlDatabase
  readonly url: string
  readonly from: number
}

export const part: Part = {
  name: 'stats',
  question: 'What does it cost to read the figures of the last ten minutes anew?',
  run,
}

async function run(bench: Bench): Promise<Report> {
  const visits = bench.setting('visits in the window', {
    quick: [10_000, 100_000],
    normal: [10_000, 100_000, 1_000_000],
    full: [10_000, 100_000, 1_000_000, 10_000_000],
  })
  const among = bench.setting('visitors among them', { quick: 2_000, normal: 2_000 })
  const visitors = bench.setting('visitors, varied', {
    quick: [1_000, 10_000],
    normal: [1_000, 10_000, 100_000],
  })
  const fixed = bench.setting('visits while visitors vary', { quick: 10_000, normal: 100_000 })
  const rounds = bench.setting('rounds', { quick: 3, normal: 9, full: 15 })
  const stampedes = bench.setting('stampedes', { quick: 3, normal: 10, full: 50 })

  const memcached = await bench.memcached({ memoryMb: 256 })
  const pool = bench.setting('buffer pool', { quick: '512M', normal: '512M', full: '4G' })
  const mariadb = await bench.mariadb([`--innodb-buffer-pool-size=${pool}`, '--log-output=TABLE'])
  const cache = openMemcached(memcached.address, { timeoutMs: 10_000 })
  bench.after(() => cache.close())

  const sites: Site[] = []
  for (const size of visits) sites.push(await site(bench, mariadb, memcached, cache, size, among))
  const crowds: Site[] = []
  for (const crowd of visitors) {
    crowds.push(await site(bench, mariadb, memcached, cache, fixed, crowd))
  }
  for (let round = 0; round < rounds; round++) {
    for (const one of [...sites, ...crowds]) {
      for (let i = 0; i < CONTENDERS.length; i++) {
        const contender = CONTENDERS[(i + round) % CONTENDERS.length]!
        bench.progress(`${one.setting}, round ${round + 1} of ${rounds}: ${contender}`)
        bench.samples.add(contender, one.setting, MS, await ask(contender, one, cache, memcached))
      }
    }
  }
  const [few, many] = [sites[0]!, sites.at(-1)!]
  const growth = growthOf(bench, few, many)
  bench.claim(
    `A refresh with ${number(many.visits)} visits in the window costs at most ${MOST_GROWTH} ` +
      `times what it costs with ${number(few.visits)} (${number(growth.median)} times)`,
    growth.median <= MOST_GROWTH,
  )
  const stampede = await callersAtOnce(bench, mariadb, memcached, few, stampedes)
  return report(bench, sites, crowds, stampede)
}

/** A site with so many visits in its window, and figures that are those of its rows. */
async function site(
  bench: Bench,
  mariadb: MariaDb,
  memcached: Memcached,
  cache: Cache,
  visits: number,
  visitors: number,
): Promise<Site> {
  const setting = `${number(visits)} visits, ${number(visitors)} visitors`
  bench.progress(`filling: ${setting}`)
  const name = `stats_${visits}_${visitors}`
  await mariadb.createDatabase(name)
  const url = mariadb.url(name)
  const database = new MysqlDatabase(url)
  bench.after(() => database.close())
  const sql = await createConnection(url)
  bench.after(() => sql.end())
  // The grid of the site before is not this one's.
  await memcached.flush()
  // Through the grid as far as that is quick; SQL makes more of the same, and the counts must come
  // out the same.
  const recorded = Math.max(visitors, Math.min(visits, 10_000))
  await record(cache, database, recorded, visitors)
  if (visits > recorded) await multiply(sql, visits / recorded)
  await analyze(sql)
  return { setting, visits, visitors, sql, database, url, from: await windowStart(sql) }
}

/** How long one way to the figures takes, in milliseconds. @throws Error if they are wrong */
async function ask(
  contender: string,
  { visits, visitors, sql, database, from, setting }: Site,
  cache: Cache,
  memcached: Memcached,
): Promise<number> {
  const right = (what: number, wanted: number): void => {
    if (what !== wanted) throw new Error(`${setting}: ${contender} says ${what}, not ${wanted}`)
  }
  if (contender === REFRESH) {
    const times: number[] = []
    for (let i = 0; i < REFRESHES_A_ROUND; i++) {
      const { ms, stats } = await refresh(cache, database, () => memcached.flush())
      right(stats.pageViews, visits)
      right(stats.visitors, visitors)
      times.push(ms)
    }
    return median(times)
  }
  const began = performance.now()
  const counted = contender === VIEWS ? await countViews(sql, from) : await countVisitors(sql, from)
  const ms = performance.now() - began
  right(counted, contender === VIEWS ? visits : visitors)
  return ms
}

/** By how much a refresh costs more at `many` than at `few`, within each round. */
function growthOf({ samples }: Bench, few: Site, many: Site): Spread {
  const before = samples.of(REFRESH, few.setting, MS)
  return spread(samples.of(REFRESH, many.setting, MS).map((ms, round) => ms / before[round]!))
}

interface Stampede {
  readonly times: number
  readonly queries: number
  readonly ms: Spread
}

/**
 * All callers at once in some processes, none of which has figures, nor has the cache: how often
 * SQL is asked.
 */
async function callersAtOnce(
  bench: Bench,
  mariadb: MariaDb,
  memcached: Memcached,
  { url, visits, visitors }: Site,
  times: number,
): Promise<Stampede> {
  const log = await createConnection(mariadb.url('mysql'))
  bench.after(() => log.end())
  const children = Array.from(
    { length: PROCESSES },
    () => new Child(new URL('../stats/asking.js', import.meta.url)),
  )
  bench.after(() => Promise.all(children.map((child) => child.end())))
  const durations: number[] = []
  let [most, all] = [0, 0]
  for (let time = 0; time < times; time++) {
    bench.progress(`${number(CALLERS)} callers at once, ${time + 1} of ${times}`)
    await Promise.all(
      children.map((child) =>
        child.ask('prepare', { memcached: memcached.address, mysqlUrl: url }),
      ),
    )
    await memcached.flush()
    await log.query('TRUNCATE general_log')
    await log.query('SET GLOBAL general_log = ON')
    const replies = await Promise.all(
      children.map((child) =>
        child.ask<{ ms: number; answers: string[] }>('call', { callers: CALLERS / PROCESSES }),
      ),
    )
    await log.query('SET GLOBAL general_log = OFF')
    const answers = new Set(replies.flatMap(({ answers }) => answers))
    const { pageViews, visitors: seen } = JSON.parse([...answers][0] ?? '{}') as {
      pageViews?: number
      visitors?: number
    }
    if (answers.size !== 1 || pageViews !== visits || seen !== visitors) {
      throw new Error(`1,000 callers were answered ${[...answers].join(' and ')}`)
    }
    const [[row]] = await log.query<RowDataPacket[]>(
      `SELECT COUNT(*) AS n FROM general_log WHERE argument LIKE '%FROM activity\\_layers%'`,
    )
    const queries = Number(row!['n'])
    most = Math.max(most, queries)
    all += queries
    const ms = Math.max(...replies.map((reply) => reply.ms))
    durations.push(ms)
    bench.samples.add(REFRESH, `${number(CALLERS)} callers at once`, MS, ms)
    bench.samples.add(
      REFRESH,
      `${number(CALLERS)} callers at once`,
      { metric: 'queries', better: 'less' },
      queries,
    )
  }
  await Promise.all(children.map((child) => child.ask('close')))
  bench.claim(
    `${number(CALLERS)} callers at once in ${PROCESSES} processes who find no figures cause ` +
      `one query (${all} in ${times} times, never more than ${most})`,
    most === 1 && all === times,
  )
  return { times, queries: all, ms: spread(durations) }
}

function report(
  bench: Bench,
  sites: readonly Site[],
  crowds: readonly Site[],
  stampede: Stampede,
): Report {
  const { samples } = bench
  const rowsOf = (group: readonly Site[], varied: 'visits' | 'visitors') =>
    group.map((one) => ({
      [varied === 'visits' ? 'visits in the window' : 'visitors in the window']: number(
        one[varied],
      ),
      ...Object.fromEntries(
        CONTENDERS.map((contender) => [
          `${contender}, ms`,
          withSpread(samples.spread(contender, one.setting, MS)),
        ]),
      ),
      'refresh, beside the first row': `${number(growthOf(bench, group[0]!, one).median)} times`,
    }))
  return {
    tables: [
      {
        title: `The figures read anew, by visits (${number(sites[0]!.visitors)} visitors)`,
        rows: rowsOf(sites, 'visits'),
      },
      {
        title: `The same, by visitors (${number(crowds[0]!.visits)} visits)`,
        rows: rowsOf(crowds, 'visitors'),
      },
      {
        title: 'Callers who find no figures',
        rows: [
          {
            'callers at once': `${number(CALLERS)} in ${PROCESSES} processes`,
            times: stampede.times,
            queries: stampede.queries,
            'ms until the last is answered': withSpread(stampede.ms),
          },
        ],
      },
    ],
    chart: {
      kind: 'lines',
      title: 'What the figures of the last ten minutes cost, by visits in the window',
      x: { name: 'visits in the window', log: true },
      y: { name: 'ms', log: true },
      lines: CONTENDERS.map((name) => ({
        name,
        points: sites.map(({ visits, setting }) => {
          const { median, low, high } = samples.spread(name, setting, MS)
          return { x: visits, y: median, low, high }
        }),
      })),
    },
  }
}
