/** What is done to the servers and processes while visits come. */
import { setTimeout as delay } from 'node:timers/promises'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Memcached } from '../../test/servers/memcached.js'
import type { Redis } from '../../test/servers/redis.js'
import type { Site } from './site.js'

export interface Stage {
  readonly memcached: Memcached
  readonly redis: Redis
  readonly mariadb: MariaDb
  readonly sites: readonly Site[]
}

export interface Fault {
  readonly name: string
  /** All writers live: wide-cache may lose nothing. */
  readonly writersLive: boolean
  /** It needs a database server of its own, not to disturb the other timelines. */
  readonly ownDatabase?: true
  /** Resolves when the fault is over. */
  run(stage: Stage): Promise<void>
}

const OUTAGE_MS = 10_000
/** What a supervisor takes to start again what has died. */
const SUPERVISOR_MS = 1500
/** Collectors come at every tenth second; they are killed when they have hardly begun. */
const COLLECTING_MS = 10_000
const BEGUN_MS = 60
const KILLS = 3

export const NOTHING: Fault = { name: 'nothing', writersLive: true, run: async () => undefined }

export const FAULTS: readonly Fault[] = [
  NOTHING,
  {
    name: 'web process killed',
    writersLive: false,
    // One of two, and it stays dead.
    async run({ sites }) {
      for (const site of sites) site.killWebProcess()
    },
  },
  {
    name: 'cache flushed',
    writersLive: true,
    run: async ({ memcached, redis }) =>
      void (await Promise.all([memcached.flush(), redis.flush()])),
  },
  {
    // SIGKILL, and started again at once.
    name: 'cache restarted',
    writersLive: true,
    run: async ({ memcached, redis }) =>
      void (await Promise.all([memcached.restart(), redis.restart()])),
  },
  {
    name: 'cache silent 10 s',
    writersLive: true,
    async run({ memcached, redis }) {
      memcached.pause()
      redis.pause()
      await delay(OUTAGE_MS)
      memcached.resume()
      redis.resume()
    },
  },
  {
    // SIGKILL, and started again by its supervisor; so often in a row.
    name: 'collector killed',
    writersLive: true,
    async run({ sites }) {
      await delay(COLLECTING_MS - (Date.now() % COLLECTING_MS) + Math.random() * BEGUN_MS)
      for (let kill = 1; kill <= KILLS; kill++) {
        for (const site of sites) site.killCollector()
        await delay(SUPERVISOR_MS)
        await Promise.all(sites.map((site) => site.startCollector()))
        if (kill < KILLS) await delay(Math.random() * SUPERVISOR_MS)
      }
    },
  },
  {
    name: 'database restarted',
    writersLive: true,
    ownDatabase: true,
    run: ({ mariadb }) => mariadb.restart(),
  },
]
