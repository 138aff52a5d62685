/**
 * Losses when many write to one cache at once: the experiment that the wide cache began with
 * (350 of 6,800 visits lost at 35 a second, on slow requests), with its loss beside the collision
 * model, and beside wide-cache.
 */
import type { Chart, LineChart } from '../harness/chart.js'
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
import { type Outcome, outcomes, total } from '../loss/outcome.js'
import { type Job, Writers } from '../loss/writers.js'
import * as append from '../peers/append-per-visit.js'
import * as getAndSet from '../peers/get-and-set.js'
import * as wideCache from '../peers/wide-cache.js'
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
  const writers = new Writers(bench, bench.setting('writer processes', 3))
  const found: Found[] = []
  for (const [at, batch] of plan.entries()) {
    bench.progress(`${at + 1} of ${plan.length}: ${batch.title}, ${batch.seconds} s`)
    found.push(...(await runBatch(batch, at, servers, writers)))
  }
  for (const one of found) record(bench, one)
  claims(bench, found)
  return chart(found)
}

type Servers = Awaited<ReturnType<typeof start>>

async function start(bench: Bench) {
  const memcached = await bench.memcached({ memoryMb: 512 })
  const mariadb = await bench.mariadb()
  const urls = new Map<Contender, string>()
  for (const contender of CONTENDERS) {
    const database = `loss_${contender.peer.replaceAll('-', '_')}`
    urls.set(contender, await mariadb.createDatabase(database))
  }
  const proxy = await bench.proxy(memcached.address)
  proxy.delay(bench.setting('ms until the slow cache answers', 22))
  return {
    urlOf: (contender: Contender) => urls.get(contender)!,
    direct: memcached.address,
    slow: proxy.address,
  }
}

async function runBatch(
  { settings, seconds }: Batch,
  batch: number,
  servers: Servers,
  writers: Writers,
): Promise<Found[]> {
  const entries = settings.flatMap((setting, at) =>
    Array.from({ length: setting.copies }, (_, copy) => ({
      setting,
      id: `b${batch}s${at}c${copy}`,
    })),
  )
  const jobs = entries.map(({ setting, id }): Job => ({
    id,
    peer: setting.contender.peer,
    rate: setting.rate,
    env: {
      name: id,
      width: setting.width,
      memcached: setting.slow ? servers.slow : servers.direct,
      mysqlUrl: servers.urlOf(setting.contender),
      ...(setting.collect && { options: { collect: EVERY_THREE_SECONDS } }),
    },
  }))
  const written = await writers.write(jobs, seconds, async () => {
    await Promise.all(
      CONTENDERS.map(async (contender) => {
        for (const { setting, id: name } of entries) {
          if (setting.contender === contender) {
            await collect(contender, {
              memcached: servers.direct,
              mysqlUrl: servers.urlOf(contender),
              name,
              width: setting.width,
            })
          }
        }
      }),
    )
  })
  const found = await Promise.all(
    CONTENDERS.map((contender) => {
      const own = entries
        .filter(({ setting }) => setting.contender === contender)
        .map(({ id }) => [id, written.get(id)!.recorded] as const)
      return outcomes(servers.urlOf(contender), contender.table, new Map(own))
    }),
  )
  const outcomeOf = new Map(found.flatMap((outcomes) => [...outcomes]))
  return entries.map(({ setting, id }) => ({
    ...setting,
    ...outcomeOf.get(id)!,
    windowSeconds: written.get(id)!.windowSeconds,
  }))
}

/**
 * Brings to SQL what waits in the cells of a grid, in which nobody writes any more; on a fast way
 * to the cache.
 */
async function collect(
  contender: Contender,
  env: { memcached: string; mysqlUrl: string; name: string; width: number },
): Promise<void> {
  if (contender === WIDE_CACHE) {
    const collector = wideCache.start(env)
    await collector.finish()
    await collector.close()
    return
  }
  const worker = await (contender === GET_AND_SET ? getAndSet : append).startWorker(env)
  await worker.drain()
  await worker.close()
}

function record(
  bench: Bench,
  { contender, rate, width, slow, collect, recorded, lost, windowSeconds }: Found,
): void {
  const setting =
    `${number(rate)}/s, width ` +
    `${width}${slow ? '' : ', fast cache'}${collect ? ', collecting' : ''}`
  bench.samples.add(
    contender.label,
    setting,
    contender === WIDE_CACHE ? LOST_BY_US : LOST,
    (lost / recorded) * 100,
  )
  bench.samples.add(contender.label, setting, VISITS, recorded)
  if (!Number.isNaN(windowSeconds)) {
    bench.samples.add(contender.label, setting, WINDOW, windowSeconds * 1000)
  }
}

function claims(bench: Bench, found: readonly Found[]): void {
  const own = found.filter(({ contender }) => contender === WIDE_CACHE)
  const claim = (where: string, of: readonly Found[]): void => {
    const { recorded, lost, duplicated } = total(of)
    bench.claim(
      `wide-cache lost ${number(lost)} and duplicated ${number(duplicated)} of ` +
        `${number(recorded)} visits ${where}`,
      recorded > 0 && lost === 0 && duplicated === 0,
    )
  }
  for (const rate of RATES) {
    claim(
      `at ${number(rate)}/s, all widths`,
      own.filter((one) => one.rate === rate && !one.collect),
    )
  }
  claim(
    'at 2,000/s with collectors at work',
    own.filter(({ collect }) => collect),
  )
  claim('in all', own)
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
        return [
          {
            name: `get and set, ${number(rate)}/s`,
            points: of.map(({ width, outcome }) => {
              const { low, high } = wilson(outcome.lost, outcome.recorded)
              return {
                x: width,
                y: (outcome.lost / outcome.recorded) * 100,
                low: low * 100,
                high: high * 100,
              }
            }),
          },
          {
            name: `model, ${number(rate)}/s`,
            dashed: true,
            points: of.map(({ width, model }) => ({ x: width, y: model * 100 })),
          },
        ]
      }),
      {
        name: 'wide-cache, all rates',
        points: widths.map((x) => ({ x, y: (all.lost / all.recorded) * 100 })),
      },
    ],
  }
}
