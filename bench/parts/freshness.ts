/**
 * Time from `record()` until a visit is in the figures, with the defaults; the share that
 * collectors bring of a writer whose clock is behind; and the cost of an idle site.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Memcached } from '../../test/servers/memcached.js'
import { MEMORY_KEYS } from '../../src/wide-cache/collector/cache-memory.js'
import { delaysOf, type Watched } from '../freshness/delays.js'
import type { Child } from '../harness/child.js'
import { type Chart, barOf, groupedBars } from '../harness/chart.js'
import type { Bench, Metric } from '../harness/part.js'
import { rowOf } from '../harness/sql.js'
import { quantile } from '../harness/statistics.js'
import { number, percent } from '../harness/table.js'
import { cacheWork, lookAtCaches, lookAtDatabase } from '../scale/counters.js'
import { less, more } from '../harness/samples.js'

export const WIDE_CACHE = 'wide-cache'
const IDLE = 'idle'
const BEHIND = 'behind'
const BEHIND_MS = 2_500
const BEHIND_RATE = 20
const WIDTH = 15
const MOST_IDLE = 2
const LEAST_BROUGHT = 0.95

const WATERMARK = 'SELECT watermark FROM wide_cache_grids WHERE name = ?'

/** The default, and the shortest. */
const LAYERS = 3
const SHORT_LAYERS = 1

/** Most seconds until half of the visits, 95 % of them, and all are in the figures. */
const WITHIN = { [LAYERS]: [6, 8, 9], [SHORT_LAYERS]: [5, 6, 7] } as const

/** After the last visit, until all figures have it. */
const TAIL_MS = 12_000

/** Before visits begin: processes find their collector. */
const COLLECTOR_MS = 5_000

export const METRICS = {
  median: less('p50, s'),
  p95: less('p95, s'),
  most: less('max, s'),
  statements: less('SQL statements/s'),
  reads: less('pipelined cache reads/s'),
  keys: less('keys read/s'),
  brought: more('share that collectors brought'),
} as const

/** Delays until visits are in the figures: a metric, and the share of the visits that it is of. */
const DELAYS = [
  [METRICS.median, 0.5],
  [METRICS.p95, 0.95],
  [METRICS.most, 1],
] as const

export async function run(bench: Bench): Promise<Chart> {
  const processes = bench.setting('processes', [1, 2], [1, 4, 16])
  const [shortLayers] = bench.setting('processes with layers of 1 s', [2], [4])
  const rates = bench.setting('visits/s in all', [1, 100], [1, 1_000])
  const seconds = bench.setting('seconds', 5, 40, 300)
  const idleSeconds = bench.setting('seconds without a visit', 10, 30, 300)
  bench.progress('starting the servers')
  const [memcached, mariadb] = await Promise.all([
    bench.memcached(),
    bench.mariadb(['--max-connections=600']),
  ])
  const server = { servers: memcached.address, mysqlUrl: mariadb.url() }
  const program = new URL('../freshness/web.js', import.meta.url)
  const most = Math.max(...processes)
  const children = Array.from({ length: most + 1 }, () => bench.child(program))
  const [slow, ...webs] = children as [Child, ...Child[]]
  await Promise.all([
    slow.ask('start', { ...server, behindMs: BEHIND_MS }),
    ...webs.map((web) => web.ask('start', { ...server, behindMs: 0 })),
  ])

  await Promise.all(webs.map((web) => web.ask('open', { sites: [{ name: IDLE }] })))
  bench.progress('a site without visits')
  await delay(5 * COLLECTOR_MS)
  await measureIdle(bench, memcached, mariadb, most, idleSeconds)

  const settings = rates.flatMap((rate) => [
    ...processes.map((count) => settingOf(count, rate, LAYERS)),
    settingOf(shortLayers!, rate, SHORT_LAYERS),
  ])
  const sitesOf = (process: number) => settings.filter((setting) => process < setting.processes)
  // A process at the right time collects for one that is behind.
  await Promise.all([
    slow.ask('open', { sites: [{ name: BEHIND, options: { collect: false } }] }),
    ...webs.map((web, process) => {
      const sites = sitesOf(process)
      return web.ask('open', { sites: process === 0 ? [{ name: BEHIND }, ...sites] : sites })
    }),
  ])
  await delay(COLLECTOR_MS)
  bench.progress(`${seconds} s of visits`)
  const from = Date.now() + 1_000
  const load = { from, seconds, until: from + seconds * 1_000 + TAIL_MS }
  const behind = slow.ask<Watched>('record', {
    ...load,
    name: BEHIND,
    process: 0,
    processes: 1,
    rate: BEHIND_RATE,
  })
  // A child answers one question at a time, so it is asked for all its sites together.
  const watched = await Promise.all(
    webs.map((web, process) =>
      web.ask<Record<string, Watched>>('recordAll', {
        sites: sitesOf(process).map((setting) => ({ ...load, ...setting, process })),
      }),
    ),
  )
  const { recorded } = await behind
  const committed = await slow.ask<number>('committed', { name: BEHIND })
  bench.samples.add(WIDE_CACHE, BEHIND, METRICS.brought, committed / recorded.length)
  for (const setting of settings) {
    const delays = delaysOf(watched.flatMap((sites) => sites[setting.name] ?? []))
    for (const [metric, share] of DELAYS) {
      bench.samples.add(WIDE_CACHE, setting.label, metric, quantile(delays, share) / 1_000)
    }
  }
  bench.progress('closing')
  await Promise.all(children.map((child) => child.ask('close')))
  claims(bench, settings, most)
  return chart(bench, settings)
}

type Setting = ReturnType<typeof settingOf>

function settingOf(processes: number, rate: number, layerSeconds: keyof typeof WITHIN) {
  const site = `${processes} ${processes === 1 ? 'process' : 'processes'}, ${number(rate)}/s`
  const isDefault = layerSeconds === LAYERS
  return {
    processes,
    rate,
    layerSeconds,
    within: WITHIN[layerSeconds],
    label: isDefault ? site : `${site}, layers of ${layerSeconds} s`,
    /** Of its grid. */
    name: `fresh-${processes}-${rate}-${layerSeconds}`,
    options: isDefault ? {} : { layerSeconds },
  }
}

function idleLabel(processes: number): string {
  return `${processes} idle processes`
}

async function measureIdle(
  bench: Bench,
  memcached: Memcached,
  mariadb: MariaDb,
  processes: number,
  idleSeconds: number,
): Promise<void> {
  const connection = bench.closing(await createConnection(mariadb.url()))
  const look = async () => {
    // Runs are at the end of a layer: none is under way now.
    const layerMs = LAYERS * 1_000
    await delay(layerMs + 1_500 - (Date.now() % layerMs))
    return {
      ...(await rowOf<'watermark'>(connection, WATERMARK, [IDLE])),
      cache: await lookAtCaches([memcached.port], ['cmd_get']),
      sql: await lookAtDatabase(connection, mariadb.pid),
    }
  }
  const before = await look()
  const began = performance.now()
  await delay((idleSeconds - 1) * 1_000)
  const after = await look()
  const seconds = (performance.now() - began) / 1_000
  const keys = cacheWork(before.cache, after.cache).operations
  const layers = after.watermark - before.watermark
  const add = (metric: Metric, value: number): void =>
    bench.samples.add(WIDE_CACHE, idleLabel(processes), metric, value / seconds)
  // The two statements of the second look.
  add(METRICS.statements, after.sql.statements - before.sql.statements - 2)
  add(METRICS.keys, keys)
  // A layer is read in one pipelined request: its cells, and the keys that show what the cache has
  // lost. memcached counts each.
  add(METRICS.reads, keys - (WIDTH + MEMORY_KEYS.length - 1) * layers)
}

function claims(bench: Bench, settings: readonly Setting[], most: number): void {
  const of = (label: string, metric: Metric): number =>
    bench.samples.spread(WIDE_CACHE, label, metric).median
  for (const { label, within } of settings) {
    const delays = DELAYS.map(([metric]) => of(label, metric))
    const [median, p95, most] = delays.map((seconds) => number(seconds))
    bench.claim(
      `${label}: half of the visits are in the figures within ${within[0]} s, 95 % within ` +
        `${within[1]} s, and all within ${within[2]} s (${median}, ${p95} and ${most} s)`,
      delays.every((seconds, at) => seconds <= within[at]!),
    )
  }
  const label = idleLabel(most)
  const [statements, reads] = [of(label, METRICS.statements), of(label, METRICS.reads)]
  bench.claim(
    `${label} send at most ${MOST_IDLE} SQL statements and ${MOST_IDLE} pipelined cache reads a ` +
      `second (${number(statements)} and ${number(reads)})`,
    statements <= MOST_IDLE && reads <= MOST_IDLE,
  )
  const brought = of(BEHIND, METRICS.brought)
  bench.claim(
    `Collectors bring at least ${percent(LEAST_BROUGHT)} of the visits of a process whose clock ` +
      `is ${BEHIND_MS / 1000} s behind (${percent(brought)})`,
    brought >= LEAST_BROUGHT,
  )
}

function chart(bench: Bench, settings: readonly Setting[]): Chart {
  const groups = DELAYS.map(([metric]) => ({
    name: metric.metric.replace(', s', ''),
    bars: settings.map(({ label }) =>
      barOf(label, bench.samples.spread(WIDE_CACHE, label, metric)),
    ),
  }))
  return groupedBars('From record() to the figures', 'seconds', groups)
}
