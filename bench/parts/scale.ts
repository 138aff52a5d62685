/**
 * Costs of a visit, and the loss, as processes, memcached servers, width and writers grow, one at a
 * time.
 */
import { createConnection } from 'mysql2/promise'
import { memcached } from '../../src/cache/memcached/memcached.js'
import { pointOf, type Chart, type LineChart } from '../harness/chart.js'
import type { Bench } from '../harness/part.js'
import type { Metric } from '../harness/samples.js'
import { sum } from '../harness/statistics.js'
import { percent } from '../harness/table.js'
import { appendCost, usableShare } from '../scale/append-cost.js'
import { experimentOn, type Outcome, type Setting } from '../scale/experiment.js'
import { cacheWorkOf, GRID, LIMITS } from '../scale/grid-model.js'
import * as metrics from '../scale/metrics.js'
import { rotated } from '../harness/order.js'

const { WIDE_CACHE } = metrics
const BASE = { processes: 2, servers: 1, width: 15, writers: 2 }

/** The memory of the server whose usable share is measured, and its cells. */
const SMALL_SERVER_MB = 128
const SMALL_SERVER_CELL_BYTES = 256_000

/** Deviation allowed between the model and what memcached has counted. */
const TOLERANCE = 0.15

/** Time that the generator runs alone, with each number of processes. */
const IDLE_SECONDS = 0.5

interface Series {
  readonly name: keyof typeof BASE
  readonly values: readonly number[]
}

export async function run(bench: Bench): Promise<Chart> {
  const rate = bench.setting('visits/s of each process', 2_000)
  const seconds = bench.setting('seconds', 3, 6, 12)
  const rounds = bench.setting('rounds', 1, 2, 5)
  const appends = bench.setting('appends to cells of each size', 1_000, 3_000, 20_000)
  const series: readonly Series[] = [
    { name: 'processes', values: bench.setting('processes', [2, 4], [1, 2, 4, 8]) },
    { name: 'servers', values: bench.setting('memcached servers', [1, 2], [1, 2, 4]) },
    { name: 'width', values: bench.setting('width', [15], [1, 4, 15, 64]) },
    {
      name: 'writers',
      values: bench.setting('writers, in 2 processes', [2, 64], [2, 32, 256]),
    },
  ]
  const settings = [
    ...new Map(
      series
        .flatMap(({ name, values }) => values.map((value) => settingOf(name, value, rate)))
        .map((setting) => [labelOf(setting), setting]),
    ).values(),
  ]
  const most = (name: 'processes' | 'servers'): number =>
    Math.max(...settings.map((setting) => setting[name]))

  bench.progress('starting the servers')
  const [mariadb, ...caches] = await Promise.all([
    bench.mariadb(),
    ...Array.from({ length: most('servers') }, () => bench.memcached({ memoryMb: 256 })),
  ])
  const connection = bench.closing(await createConnection(mariadb.url()))
  const experiment = experimentOn(bench, caches, mariadb, connection, most('processes'))

  // The compiler sees what is hot, and the tables are made.
  await experiment.run('warm-up', settingOf('processes', most('processes'), 3 * rate), 1)
  const outcomes: Outcome[] = []
  for (let round = 0; round < rounds; round++) {
    bench.progress(`round ${round + 1} of ${rounds}: the generator alone`)
    const idle = new Map<number, number>()
    for (const processes of new Set(settings.map((setting) => setting.processes))) {
      idle.set(processes, await experiment.idle(processes, rate, IDLE_SECONDS))
    }
    for (const [at, setting] of rotated(settings, round * 4).entries()) {
      bench.progress(`round ${round + 1} of ${rounds}: ${labelOf(setting)}`)
      const outcome = await experiment.run(`scale-${round}-${at}`, setting, seconds)
      keep(bench, setting, outcome, idle.get(setting.processes)!)
      outcomes.push(outcome)
    }
  }
  bench.progress('memcached alone')
  await measureServer(bench, appends)

  claims(bench, settings, outcomes)
  return chart(bench, series, rate)
}

function settingOf(name: Series['name'], value: number, rate: number): Setting {
  const setting = { ...BASE, rate, [name]: value }
  // By itself each process is one writer.
  return name === 'processes' ? { ...setting, writers: value } : setting
}

function labelOf({ processes, servers, width, writers }: Setting): string {
  const count = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`
  return (
    `${count(processes, 'process', 'processes')}, ` +
    `${count(servers, 'server', 'servers')}, width ` +
    `${width}${writers === processes ? '' : `, ${writers} writers`}`
  )
}

function keep(bench: Bench, setting: Setting, outcome: Outcome, idle: number): void {
  const { visits, cache, sql, collector } = outcome
  const add = bench.samples.add.bind(bench.samples, WIDE_CACHE, labelOf(setting))
  const web = outcome.webCpuMicros / visits - idle
  add(metrics.WEB, web)
  add(metrics.ROWS_PER_FRAME, visits / collector.frames)
  add(metrics.OPERATIONS, cache.operations / visits)
  add(metrics.CACHE_BYTES, cache.bytes / visits)
  add(metrics.CACHE_CPU, cache.cpuMicros / visits)
  add(metrics.UNEVENNESS, cache.unevenness)
  add(metrics.COLLECTOR_CPU, collector.cpuMicros / visits)
  add(metrics.COLLECTOR_TIME, (collector.busyMs * 1000) / visits)
  add(metrics.STATEMENTS, (sql.statements / visits) * 1000)
  add(metrics.ROWS_WRITTEN, sql.rowsWritten / visits)
  add(metrics.DATABASE_CPU, sql.cpuMicros / visits)
  add(metrics.ALL_CPU, web + (cache.cpuMicros + collector.cpuMicros + sql.cpuMicros) / visits)
  const calculated = calculate(setting, outcome)
  add(metrics.MODEL_OPERATIONS, calculated.operations / cache.operations)
  add(metrics.MODEL_BYTES, calculated.bytes / cache.bytes)
}

/**
 * Calculates such a run by the model: each layer with its share of the frames, and the layers
 * without any.
 */
function calculate({ width, writers }: Setting, { ended, visits, collector, ...outcome }: Outcome) {
  // The first frame is placed when the first visit has waited for others.
  const began = outcome.began + GRID.longestSeconds * 1000
  const rowsPerFrame = visits / collector.frames
  const layer = {
    frameBytes: LIMITS.frameHeaderBytes + rowsPerFrame * metrics.ROW_BYTES,
    writers,
    width,
    keyBytes: 'wide-cache:scale-0-0:cell:1234567890:12'.length,
  }
  const layerMs = GRID.layerSeconds * 1000
  const first = Math.floor(began / layerMs)
  const works = Array.from({ length: collector.layers }, (_, at) => {
    const begin = (first + at) * layerMs
    const overlap = Math.max(0, Math.min(ended, begin + layerMs) - Math.max(began, begin))
    return cacheWorkOf({ ...layer, frames: (collector.frames * overlap) / (ended - began) })
  })
  const total = (what: 'operations' | 'bytes'): number => sum(works.map((work) => work[what]))
  return { operations: total('operations'), bytes: total('bytes') }
}

async function measureServer(bench: Bench, appends: number): Promise<void> {
  const server = await bench.memcached({ memoryMb: 512 })
  const cache = bench.closing(memcached(server.address))
  for (const bytes of metrics.CELL_BYTES) {
    const cpuMicros = await appendCost(cache, server.port, bytes, appends)
    bench.samples.add(metrics.SERVER, String(bytes), metrics.APPEND, cpuMicros)
  }
  const small = await bench.memcached({ memoryMb: SMALL_SERVER_MB })
  const growing = bench.closing(memcached(small.address))
  const memory = SMALL_SERVER_MB * 2 ** 20
  const share = await usableShare(growing, small.port, memory, SMALL_SERVER_CELL_BYTES)
  const cells = `${SMALL_SERVER_MB} MiB, cells of ${SMALL_SERVER_CELL_BYTES} bytes`
  bench.samples.add(metrics.SERVER, cells, metrics.USABLE, share)
}

function claims(bench: Bench, settings: readonly Setting[], outcomes: readonly Outcome[]): void {
  const { samples } = bench
  const total = (what: 'visits' | 'rows' | 'different'): number =>
    sum(outcomes.map((outcome) => outcome[what]))
  const visits = total('visits')
  const [lost, duplicated] = [visits - total('different'), total('rows') - total('different')]
  bench.claim(
    `of ${visits.toLocaleString('en')} visits in all settings ${lost} are lost and ` +
      `${duplicated} duplicated in SQL`,
    lost === 0 && duplicated === 0,
  )
  bench.claim(
    'the ledger says the same: all issued, all committed, none lost',
    outcomes.every(
      ({ visits, ledger: { issued, committed, owed, lost } }) =>
        issued === visits && committed === visits && owed + lost === 0,
    ),
  )
  for (const metric of [metrics.MODEL_OPERATIONS, metrics.MODEL_BYTES]) {
    const ratios = settings.map((one) => samples.spread(WIDE_CACHE, labelOf(one), metric).median)
    const off = Math.max(...ratios.map((ratio) => Math.abs(ratio - 1)))
    bench.claim(
      `${metric.metric}: within ${percent(TOLERANCE)} in every setting (at most ` +
        `${percent(off)} off)`,
      off <= TOLERANCE,
    )
  }
  const labelWith = (processes: number): string =>
    labelOf({ ...BASE, processes, writers: processes, rate: 0 })
  const of = (processes: number): number =>
    samples.spread(WIDE_CACHE, labelWith(processes), metrics.OPERATIONS).median
  const processes = settings
    .filter((setting) => labelOf(setting) === labelWith(setting.processes))
    .map((setting) => setting.processes)
    .sort((a, b) => a - b)
  const [few, many] = [processes[0]!, processes.at(-1)!]
  bench.claim(
    `a visit causes no more cache operations with ${many} processes than with ${few}`,
    of(many) <= of(few),
  )
}

function chart({ samples }: Bench, series: readonly Series[], rate: number): LineChart {
  // One quantity on the axis: the tables have the others.
  const { name, values } = series[0]!
  const line = (metric: Metric, who: string) => ({
    name: who,
    points: values.map((x) =>
      pointOf(x, samples.spread(WIDE_CACHE, labelOf(settingOf(name, x, rate)), metric)),
    ),
  })
  return {
    type: 'lines',
    title: 'CPU time of a visit: in its web process, and of all servers and processes together',
    x: { name: 'web processes' },
    y: { name: 'CPU µs/visit' },
    lines: [line(metrics.WEB, 'its web process'), line(metrics.ALL_CPU, 'all together')],
  }
}
