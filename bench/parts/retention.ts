/**
 * Whether the retention removes as fast as visits come, and whether it holds up others who insert:
 * first all that it can, then beside a collector, with `--full` for 90 minutes.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../src/database/database.js'
import { MysqlDatabase } from '../../src/database/mysql/mysql.js'
import type { Child } from '../harness/child.js'
import type { Chart } from '../harness/chart.js'
import type { Bench, Metric } from '../harness/part.js'
import { number } from '../harness/table.js'
import { type Life, live } from '../retention/life.js'
import * as names from '../retention/names.js'
import { MARIADB } from './drain.js'
import { bring, count, removeAll, speedOf } from '../retention/removal.js'
import { FAST, VISITORS } from '../retention/visits.js'

const { BESIDE, COLLECTOR, COLLECTS, FULL_SPEED, NOTHING, REMOVES, RETENTION, SPEED } = names

const ALONE_MS = 2_000

/** The promises. */
const MOST_CALL_MS = 500
const MOST_WAIT_MS = 50
const MOST_BEHIND_SECONDS = 5
/** One until they are looked for, and one in which they are removed. */
const MOST_OVERDUE_PERIODS = 2

export async function run(bench: Bench): Promise<Chart> {
  const rows = bench.setting('rows removed at once', 20_000, 1_000_000)
  const life: Life = {
    rate: bench.setting('visits/s', 5_000, 20_000, 25_000),
    seconds: bench.setting('seconds', 8, 20, 5_400),
    keptSeconds: bench.setting('rows kept for, s', 3, 8, 1_200),
    everySeconds: bench.setting('removed every, s', 1, 4, 60),
  }
  const site = `${FAST} seconds of the site in a second, ${number(VISITORS)} visitors`
  bench.setting('site', site)

  const mariadb = await bench.mariadb(MARIADB)
  const mysqlUrl = await mariadb.createDatabase('retention')
  const database = bench.closing(new MysqlDatabase(mysqlUrl))
  await database.migrate()
  const others = bench.child(new URL('../retention/others.ts', import.meta.url), process)

  bench.progress('rows to be removed at once')
  const commits = await bring(database, rows)
  bench.samples.add(COLLECTOR, String(rows), SPEED, speedOf(commits))
  await others.ask('open', { mysqlUrl })
  await delay(ALONE_MS)
  // Not the first commits, which open a connection and are compiled.
  await others.ask('took')
  await delay(ALONE_MS)
  await note(bench, others, NOTHING)
  bench.progress('removing them')
  const calls = await removeAll(database)
  await note(bench, others, FULL_SPEED)
  bench.samples.add(RETENTION, String(rows), SPEED, speedOf(calls))
  for (const { ms } of calls) bench.samples.add(RETENTION, String(rows), names.CALL, ms)

  await lifeBeside(bench, database, others, life)
  await others.ask('close')
  // Some seconds show that it runs, and nothing else.
  if (bench.mode !== 'quick') claims(bench, String(rows), life)
  return chart(bench, life)
}

/** Keeps what others have waited since the last time. */
async function note({ samples }: Bench, others: Child, setting: string): Promise<void> {
  const took = await others.ask<number[]>('took')
  const at = (part: number): number => took[Math.floor((took.length - 1) * part)]!
  samples.add(BESIDE, setting, names.P50, at(0.5))
  samples.add(BESIDE, setting, names.P99, at(0.99))
  samples.add(BESIDE, setting, names.LONGEST, at(1))
}

/** @throws Error if the tables have not exactly what has come and has not been removed */
async function lifeBeside(bench: Bench, database: Database, others: Child, life: Life) {
  const totals = (): Promise<number> => count(database, 'activity_hours', 'SUM(views)')
  const before = await totals()
  let removed = 0
  for await (const period of live(database, life)) {
    const { brought } = period
    const [done, all] = [brought / life.rate, life.seconds]
    bench.progress(`beside a collector, ${number(done)} of ${number(all)} seconds`)
    const setting = period.removes ? REMOVES : COLLECTS
    await note(bench, others, setting)
    const kept = await count(database, 'activity_seconds', 'SUM(views)')
    const add = bench.samples.add.bind(bench.samples, COLLECTOR, setting)
    add(names.BROUGHT, life.rate * life.everySeconds)
    add(names.REMOVED, brought - kept - removed)
    add(names.OVERDUE, period.overdueSeconds)
    add(names.BEHIND, period.behindSeconds)
    add(names.CALL, period.longestCallMs)
    add(names.CLOSED, period.closedDays)
    removed = brought - kept
  }
  const brought = life.rate * life.seconds
  const found = [(await totals()) - before, (await count(database, 'activities')) + removed]
  if (found.some((one) => one !== brought)) {
    throw new Error(
      `${number(brought)} visits were brought: the totals have ${number(found[0]!)}, rows that ` +
        `are kept and removed are ${number(found[1]!)}`,
    )
  }
}

function claims({ samples, claim }: Bench, rows: string, life: Life): void {
  const most = (contender: string, setting: string, metric: Metric): number =>
    Math.max(...samples.of(contender, setting, metric))
  const removed = samples.spread(RETENTION, rows, SPEED).median
  const brought = samples.spread(COLLECTOR, rows, SPEED).median
  claim(
    `The retention removes as fast as commits bring (${number(removed)} and ${number(brought)} ` +
      'rows/s)',
    removed >= brought,
  )
  const call = Math.max(most(RETENTION, rows, names.CALL), most(COLLECTOR, REMOVES, names.CALL))
  claim(
    `A call of the retention takes at most ${MOST_CALL_MS} ms (${number(call)} ms)`,
    call <= MOST_CALL_MS,
  )
  const site = `${number(life.rate)} visits/s for ${number(life.seconds)} s`
  const mostOverdue = MOST_OVERDUE_PERIODS * life.everySeconds
  const overdue = most(COLLECTOR, REMOVES, names.OVERDUE)
  claim(
    `${site}: no row stays ${mostOverdue} s past its time (${number(overdue)} s)`,
    overdue < mostOverdue,
  )
  const behind = Math.max(...[COLLECTS, REMOVES].map((one) => most(COLLECTOR, one, names.BEHIND)))
  claim(
    `${site}: the collector is never ${MOST_BEHIND_SECONDS} s behind (${number(behind)} s)`,
    behind < MOST_BEHIND_SECONDS,
  )
  for (const [setting, without] of [
    [FULL_SPEED, NOTHING],
    [REMOVES, COLLECTS],
  ] as const) {
    const [longest, longestWithout] = [setting, without].map((one) =>
      most(BESIDE, one, names.LONGEST),
    )
    claim(
      `Beside ${setting} no commit takes ${MOST_WAIT_MS} ms more than the longest beside ` +
        `${without} (${number(longest!)} and ${number(longestWithout!)} ms)`,
      longest! <= longestWithout! + MOST_WAIT_MS,
    )
  }
}

function chart({ samples }: Bench, life: Life): Chart {
  const periods = (metric: Metric) =>
    [COLLECTS, REMOVES].flatMap((setting) => samples.of(BESIDE, setting, metric))
  return {
    type: 'lines',
    title:
      'Commits of others beside a collector; rows are removed from second ' +
      `${number(life.keptSeconds)} on`,
    x: { name: 'seconds' },
    y: { name: 'ms' },
    lines: [names.P50, names.P99, names.LONGEST].map((metric) => ({
      name: metric.metric,
      points: periods(metric).map((y, at) => ({ x: (at + 1) * life.everySeconds, y })),
    })),
  }
}
