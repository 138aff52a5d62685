/**
 * wide-cache alone under faults for so long that even rare losses would show: one fault again and
 * again, or all of them mixed, several at a time. A seed draws which and when. The same seed does
 * not give the same run: real servers and processes have moments of their own.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createPool } from 'mysql2/promise'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { Random } from '../../test/simulated-world/random.js'
import type { Bench } from '../harness/part.js'
import { WIDE_CACHE } from './contenders.js'
import type { Fault, Stage } from './faults.js'
import { type Outcome, Site } from './site.js'

export interface Soaking {
  /** Also in the names of databases: letters and digits. */
  readonly id: string
  /** The possible faults. Those of one target never happen at the same time. */
  readonly faults: readonly Fault[]
  readonly seed: number
  /** Least number of visits of writers that live to the end. */
  readonly visits: number
  /** Visits a second. */
  readonly rate: number
  /** Options of `createActivity()`. */
  readonly options: Readonly<Record<string, unknown>>
}

export interface Soaked {
  /** Number of faults that happened. */
  readonly faults: number
  readonly processes: readonly Outcome[]
}

const DATABASE_OPTIONS = ['--innodb-buffer-pool-size=256M']
/** From the end of one fault to the next. */
const MOST_REST_MS = 8_000
/** Probability that a target has a fault, when there are several. */
const CHANCE = 0.5
const LOOK_MS = 1_000
/** After it the processes are closed, which brings the rest at once. */
const MOST_WAIT_MS = 90_000

export async function soak(
  bench: Bench,
  { id, faults, seed, visits, rate, options }: Soaking,
): Promise<Soaked> {
  const random = new Random(seed)
  const [memcached, mariadb] = await Promise.all([
    bench.memcached(),
    bench.mariadb(DATABASE_OPTIONS),
  ])
  const database = `soak_${id}`
  await mariadb.createDatabase(database)
  const pool = createPool({ uri: mariadb.url(), connectionLimit: 2 })
  const folder = temporaryFolder('soak')
  const site = new Site(WIDE_CACHE, database, pool, {
    memcached: memcached.address,
    redisUrl: '',
    mysqlUrl: mariadb.url(database),
    options,
  })
  bench.after(() => {
    site.kill()
    removeFolder(folder)
    return pool.end()
  })
  const stage: Stage = { stores: [memcached], mariadb, sites: [site], chance: () => random.next() }
  await site.start(rate, folder)
  site.go()
  let count = 0
  while (site.recorded().living < visits) {
    bench.progress(`${id}: ${site.recorded().living} of ${visits} visits, ${count} faults`)
    await delay(random.next() * MOST_REST_MS)
    const drawn = some(faults, random)
    await Promise.all(drawn.map((fault) => fault.run(stage)))
    await site.replenish()
    count += drawn.length
  }
  site.stopTraffic()
  bench.progress(`${id}: waiting for what is still on its way`)
  const deadline = performance.now() + MOST_WAIT_MS
  while (
    performance.now() < deadline &&
    (await site.rows(Number.MAX_SAFE_INTEGER)) < site.recorded().all
  ) {
    await delay(LOOK_MS)
  }
  await site.finish()
  const processes = await site.outcomes()
  await Promise.all([mariadb.stop(), memcached.stop()])
  return { faults: count, processes }
}

/** The only one; or of each target one or none, but not none at all. */
function some(faults: readonly Fault[], random: Random): readonly Fault[] {
  if (faults.length === 1) return faults
  const targets = [...new Set(faults.map(({ target }) => target))]
  const drawn = targets.flatMap((target) => {
    const own = faults.filter((fault) => fault.target === target)
    return random.chance(CHANCE) ? [random.pick(own)] : []
  })
  return drawn.length > 0 ? drawn : some(faults, random)
}
