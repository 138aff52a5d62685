/**
 * Losses when many write to one cache at once: the experiment that the wide cache began with
 * (350 of 6,800 visits lost at 35 a second, on slow requests), with its loss beside the collision
 * model, and beside wide-cache.
 */
import { tableOf } from '../faults/table.js'
import type { Chart, LineChart } from '../harness/chart.js'
import type { Child } from '../harness/child.js'
import { EVERY_THREE_SECONDS } from '../harness/collecting.js'
import type { Bench } from '../harness/part.js'
import { sum, wilson } from '../harness/statistics.js'
import { number } from '../harness/table.js'
import {
  type Batch,
  batches,
  type Contender,
  CONTENDERS,
  GET_AND_SET,
  type Setting,
  WIDE_CACHE,
} from '../loss/batches.js'
import { lostShare } from '../loss/model.js'
import { type Outcome, outcomeOf, total } from '../loss/outcome.js'
import { write } from '../loss/writers.js'
import { WORKER } from '../overhead/worker.js'
import { less, neutral } from '../harness/samples.js'

const RATES = [35, 350, 2000] as const
export const LOST = neutral('lost, % of recorded')
const LOST_BY_US = less('lost, % of recorded')
export const VISITS = neutral('visits recorded')
const WINDOW = neutral('ms from get to set')

interface Found extends Setting, Outcome {
  /** NaN where there is none. */
  readonly windowSeconds: number
}

export async function run(bench: Bench): Promise<Chart> {
  const plan = batches(bench)
  const servers = await start(bench)
  const program = new URL('../loss/writer.js', import.meta.url)
  const processes = bench.setting('writer processes', 3)
  const writers = Array.from({ length: processes }, () => bench.child(program))
  const collector = bench.child(WORKER)
  const found: Found[] = []
  for (const [at, batch] of plan.entries()) {
    bench.progress(`${at + 1} of ${plan.length}: ${batch.title}, ${batch.seconds} s`)
    found.push(...(await runBatch(batch, at, servers, writers, collector)))
  }
  for (const one of found) record(bench, one)
  claims(bench, found)
  return chart(found)
}

type Servers = Awaited<ReturnType<typeof start>>

async function start(bench: Bench) {
  const memcached = await bench.memcached({ memoryMb: 512 })
  const mariadb = await bench.mariadb()
  const databaseOf = ({ peer }: Contender): string => `loss_${peer.replaceAll('-', '_')}`
  for (const contender of CONTENDERS) await mariadb.createDatabase(databaseOf(contender))
  const proxy = await bench.proxy(memcached.address)
  proxy.delay(bench.setting('ms until the slow cache answers', 22))
  return {
    urlOf: (contender: Contender) => mariadb.url(databaseOf(contender)),
    direct: memcached.address,
    slow: proxy.address,
  }
}

async function runBatch(
  { settings, seconds }: Batch,
  batch: number,
  servers: Servers,
  writers: readonly Child[],
  collector: Child,
): Promise<Found[]> {
  const entries = settings.flatMap((setting, at) =>
    Array.from({ length: setting.copies }, (_, copy) => {
      const id = `b${batch}s${at}c${copy}`
      const mysqlUrl = servers.urlOf(setting.contender)
      const env = { name: id, width: setting.width, mysqlUrl, memcached: servers.direct }
      return { ...setting, id, peer: setting.contender.peer, mysqlUrl, env }
    }),
  )
  const jobs = entries.map(({ id, peer, rate, slow, collect, env }) => ({
    id,
    peer,
    rate,
    env: {
      ...env,
      ...(slow && { memcached: servers.slow }),
      ...(collect && { options: { collect: EVERY_THREE_SECONDS } }),
    },
  }))
  // What waits in the cells of grids in which nobody writes any more, on a fast way to the cache.
  const written = await write(writers, jobs, seconds, async () => {
    await collector.ask('open', { workers: entries })
    await collector.ask('close')
  })
  return Promise.all(
    entries.map(async (entry, at) => {
      const { peer, id, mysqlUrl } = entry
      const { recorded, windowSeconds } = written[at]!
      const outcome = await outcomeOf(mysqlUrl, tableOf(peer), id, recorded)
      return { ...entry, ...outcome, windowSeconds }
    }),
  )
}

function record(
  bench: Bench,
  { contender, rate, width, slow, collect, recorded, lost, windowSeconds }: Found,
): void {
  const how = `${slow ? '' : ', fast cache'}${collect ? ', collecting' : ''}`
  const setting = `${number(rate)}/s, width ${width}${how}`
  const add = bench.samples.add.bind(bench.samples, contender.label, setting)
  add(contender === WIDE_CACHE ? LOST_BY_US : LOST, (lost / recorded) * 100)
  add(VISITS, recorded)
  if (!Number.isNaN(windowSeconds)) add(WINDOW, windowSeconds * 1000)
}

function claims(bench: Bench, found: readonly Found[]): void {
  const own = found.filter(({ contender }) => contender === WIDE_CACHE)
  const claim = (where: string, which: (one: Found) => boolean): void => {
    const { recorded, lost, duplicated } = total(own.filter(which))
    bench.claim(
      `wide-cache lost ${number(lost)} and duplicated ${number(duplicated)} of ` +
        `${number(recorded)} visits ${where}`,
      recorded > 0 && lost === 0 && duplicated === 0,
    )
  }
  for (const rate of RATES) {
    claim(`at ${number(rate)}/s, all widths`, (one) => one.rate === rate && !one.collect)
  }
  claim('at 2,000/s with collectors at work', ({ collect }) => collect)
  claim('in all', () => true)
  if (bench.mode === 'full') {
    bench.claim('wide-cache was given at least 1,000,000 visits', total(own).recorded >= 1_000_000)
  }
}

/**
 * Returns the points of the picture: all copies of get and set at one rate and width, on a slow
 * cache.
 */
function points(found: readonly Found[], rate: number) {
  const of = found.filter((one) => one.contender === GET_AND_SET && one.rate === rate && one.slow)
  return [...new Set(of.map(({ width }) => width))]
    .sort((a, b) => a - b)
    .map((width) => {
      const copies = of.filter((one) => one.width === width)
      const windowSeconds = sum(copies.map((one) => one.windowSeconds)) / copies.length
      return {
        width,
        windowSeconds,
        outcome: total(copies),
        model: lostShare({ rate, windowSeconds, width }),
      }
    })
}

function chart(found: readonly Found[]): LineChart {
  const widths = points(found, RATES[0]).map(({ width }) => width)
  const all = total(found.filter(({ contender }) => contender === WIDE_CACHE))
  return {
    type: 'lines',
    title: 'Visits lost when writers meet in a cell of a slow cache',
    x: { name: 'width of the grid', log: true },
    y: { name: 'visits lost, %' },
    lines: [
      ...RATES.flatMap((rate) => {
        const of = points(found, rate)
        const measured = of.map(({ width: x, outcome: { lost, recorded } }) => {
          const { low, high } = wilson(lost, recorded)
          return { x, y: (lost / recorded) * 100, low: low * 100, high: high * 100 }
        })
        const calculated = of.map(({ width, model }) => ({ x: width, y: model * 100 }))
        return [
          { name: `get and set, ${number(rate)}/s`, points: measured },
          { name: `model, ${number(rate)}/s`, dashed: true, points: calculated },
        ]
      }),
      {
        name: 'wide-cache, all rates',
        points: widths.map((x) => ({ x, y: (all.lost / all.recorded) * 100 })),
      },
    ],
  }
}
