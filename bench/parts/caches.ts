/**
 * The same site on memcached and on Redis, in one run: CPU time of a visit, speed of a drain,
 * freshness, and recovery from faults of the cache. Redis keeps nothing on the disk.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Memcached } from '../../test/servers/memcached.js'
import { delaysOf, type Watched } from '../freshness/delays.js'
import type { Child } from '../harness/child.js'
import { type Chart, barOf, groupedBars } from '../harness/chart.js'
import type { Bench } from '../harness/part.js'
import { quantile } from '../harness/statistics.js'
import { less, more } from '../harness/samples.js'
import { rotated } from '../harness/order.js'

export const MEMCACHED = 'memcached'
export const REDIS = 'Redis'
const CONTENDERS = [MEMCACHED, REDIS] as const

export const CPU = less('CPU µs/visit')
export const DRAIN = more('rows/s')
export const MEDIAN = less('p50, s')
export const P95 = less('p95, s')
export const RECOVERY = less('s until all is in SQL')

/** A lost connection and a cache without its frames; and one that does not answer for a while. */
export const FAULTS = ['killed and started empty', 'silent for 10 s'] as const
const SILENT_MS = 10_000
/** Visits that are recorded before a fault, and after it, in seconds. */
const BEFORE_S = 3
const AFTER_S = 3
const MEMORY_MB = 512

type CacheServer = Pick<Memcached, 'restart' | 'pause' | 'resume'>

export async function run(bench: Bench): Promise<Chart> {
  const rounds = bench.setting('rounds', 1, 15, 51)
  const rate = bench.setting('visits/s', 1_000, 5_000)
  const count = bench.setting('visits of a round', 1_000, 20_000)
  const freshRate = bench.setting('visits/s for freshness', 10, 100)
  const freshSeconds = bench.setting('seconds of freshness', 3, 60)
  const faults = bench.setting('faults of a kind', 1, 5, 20)
  const faultRate = bench.setting('visits/s beside a fault', 100, 500)

  const [memcached, redis, mariadb] = await Promise.all([
    bench.memcached({ memoryMb: MEMORY_MB }),
    bench.redis(['--maxmemory', `${MEMORY_MB}mb`, '--maxmemory-policy', 'noeviction']),
    bench.mariadb(),
  ])
  const start = async (cache: string, name: string, given: object): Promise<Child> => {
    const child = bench.child(new URL('../caches/site.js', import.meta.url))
    const options = { cache, database: await mariadb.createDatabase(`caches_${name}`), ...given }
    await child.ask('open', { options })
    return child
  }
  /** One site collects only when it is told to, the other as sites do. */
  const opened = async (label: string, server: CacheServer, url: string) => ({
    label,
    server,
    told: await start(url, `${label.toLowerCase()}_told`, { collect: false }),
    collecting: await start(url, `${label.toLowerCase()}_collecting`, {}),
  })
  const contenders = [
    await opened(MEMCACHED, memcached, `memcached://${memcached.address}`),
    await opened(REDIS, redis, redis.url),
  ]

  for (let round = -1; round < rounds; round++) {
    // One at a time, by turns; the first round warms up.
    for (const { label, told } of rotated(contenders, rounds + round)) {
      bench.progress(`round ${round + 1} of ${rounds}: ${label}`)
      const { cpuUs, ms } = await told.ask<{ cpuUs: number; ms: number }>('bring', { rate, count })
      if (round < 0) continue
      bench.samples.add(label, '', CPU, cpuUs)
      bench.samples.add(label, '', DRAIN, (count / ms) * 1000)
    }
  }

  bench.progress('freshness')
  await Promise.all(
    contenders.map(async ({ label, collecting }) => {
      const watched = await collecting.ask<Watched>('watch', {
        rate: freshRate,
        count: freshRate * freshSeconds,
      })
      const delays = delaysOf([watched])
      bench.samples.add(label, '', MEDIAN, quantile(delays, 0.5) / 1000)
      bench.samples.add(label, '', P95, quantile(delays, 0.95) / 1000)
    }),
  )

  let lost = 0
  for (const fault of FAULTS) {
    for (let round = 0; round < faults; round++) {
      bench.progress(`${fault}, ${round + 1} of ${faults}`)
      await Promise.all(
        contenders.map(async ({ label, server, collecting }) => {
          const outlived = collecting.ask<{ at: number; lost: number }>('outlive', {
            rate: faultRate,
            count: faultRate * (BEFORE_S + AFTER_S),
          })
          // Spread over the period of a layer.
          await delay((BEFORE_S + round / faults) * 1000)
          const at = Date.now()
          await disturb(server, fault)
          const outcome = await outlived
          lost += outcome.lost
          bench.samples.add(label, fault, RECOVERY, (outcome.at - at) / 1000)
        }),
      )
    }
  }
  bench.claim(
    `None of ${2 * FAULTS.length * faults} faults of a cache lost a visit (${lost} lost)`,
    lost === 0,
  )
  const children = contenders.flatMap(({ told, collecting }) => [told, collecting])
  await Promise.all(children.map((child) => child.ask('close')))
  const groups = FAULTS.map((fault) => ({
    name: fault,
    bars: CONTENDERS.map((label) => barOf(label, bench.samples.spread(label, fault, RECOVERY))),
  }))
  return groupedBars('From a fault of the cache until all visits are in SQL', 'seconds', groups)
}

async function disturb(server: CacheServer, fault: (typeof FAULTS)[number]): Promise<void> {
  if (fault === 'killed and started empty') return server.restart()
  server.pause()
  await delay(SILENT_MS)
  server.resume()
}
