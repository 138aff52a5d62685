/**
 * One fault: all contenders side by side on the same servers, visits coming before, meanwhile and
 * after.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createPool } from 'mysql2/promise'
import type { MariaDb } from '../../test/servers/mariadb.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import type { Bench } from '../harness/part.js'
import { type Contender, CONTENDERS, WIDE_CACHE } from './contenders.js'
import type { Fault } from './faults.js'
import { type Outcome, Site } from './site.js'

const LOOK_MS = 500
/**
 * As careful users run Redis: what is acknowledged is in the kernel's hands (a killed server loses
 * nothing), and on disk within a second.
 */
const PERSISTENCE = ['--appendonly', 'yes', '--appendfsync', 'everysec']

export interface Settings {
  /** Visits a second of each contender. */
  readonly rate: number
  readonly secondsBefore: number
  readonly secondsAfter: number
  /** The longest that wide-cache is waited for, and the shortest that anybody is. */
  readonly waitSeconds: { readonly least: number; readonly most: number }
  /** Options of `createActivity()`. */
  readonly options: Readonly<Record<string, unknown>>
}

export interface Result {
  readonly fault: Fault
  readonly contender: Contender
  readonly processes: readonly Outcome[]
  /** Seconds from the end of the fault until all visits of before had come that ever came. */
  readonly seconds: number
}

/**
 * Resolves when the visits have ended, to what waits for the rest of the way: the next timeline may
 * begin meanwhile.
 */
export async function timeline(
  bench: Bench,
  fault: Fault,
  mariadb: MariaDb,
  id: string,
  settings: Settings,
): Promise<{ rest: Promise<Result[]> }> {
  const [memcached, redis] = await Promise.all([bench.memcached(), bench.redis(PERSISTENCE)])
  const pool = createPool({ uri: mariadb.url(), connectionLimit: 3 })
  bench.after(() => pool.end())
  const folder = temporaryFolder('faults')
  bench.after(() => removeFolder(folder))
  const sites: Site[] = []
  bench.after(() => sites.forEach((site) => site.kill()))
  for (const contender of CONTENDERS) {
    const database = `${id}_${contender.peer.replaceAll('-', '_')}`
    await mariadb.createDatabase(database)
    const { options } = settings
    sites.push(
      new Site(contender, database, pool, {
        memcached: memcached.address,
        redisUrl: redis.url,
        mysqlUrl: mariadb.url(database),
        options,
      }),
    )
  }
  await Promise.all(sites.map((site) => site.start(settings.rate, folder)))

  for (const site of sites) site.go()
  await delay(settings.secondsBefore * 1000)
  await fault.run({ stores: [memcached, redis], mariadb, sites, chance: Math.random })
  const over = { at: Date.now(), moment: performance.now() }
  const arrivals = new Map(sites.map((site) => [site, new Arrivals(site, over)]))
  const looking = look([...arrivals.values()])
  await delay(settings.secondsAfter * 1000)
  for (const site of sites) site.stopTraffic()
  return { rest: rest() }

  async function rest(): Promise<Result[]> {
    try {
      await arrived(
        sites.find(({ contender }) => contender === WIDE_CACHE)!,
        settings.waitSeconds,
      )
      await Promise.all(sites.map((site) => site.finish()))
    } finally {
      await looking.stop()
    }
    return Promise.all(
      sites.map(async (site) => {
        const own = arrivals.get(site)!
        await own.look()
        return {
          fault,
          contender: site.contender,
          processes: await site.outcomes(),
          seconds: own.seconds,
        }
      }),
    )
  }
}

/** Arrival of the last visit that was recorded before the end of the fault. */
class Arrivals {
  seconds = 0
  readonly #site: Site
  readonly #over: { readonly at: number; readonly moment: number }
  #rows = -1

  constructor(site: Site, over: { readonly at: number; readonly moment: number }) {
    this.#site = site
    this.#over = over
  }

  async look(): Promise<void> {
    const rows = await this.#site.rows(this.#over.at)
    if (rows === this.#rows) return
    this.#rows = rows
    this.seconds = (performance.now() - this.#over.moment) / 1000
  }
}

function look(arrivals: readonly Arrivals[]): { stop(): Promise<void> } {
  let stopped = false
  const looking = (async () => {
    while (!stopped) {
      // A database that is away is asked again.
      await Promise.all(arrivals.map((own) => own.look().catch(() => undefined)))
      await delay(LOOK_MS)
    }
  })()
  return {
    async stop() {
      stopped = true
      await looking
    },
  }
}

async function arrived(
  site: Site,
  { least, most }: { least: number; most: number },
): Promise<void> {
  const began = performance.now()
  await delay(least * 1000)
  while (performance.now() - began < most * 1000 && !(await site.complete())) await delay(LOOK_MS)
}
