/** Faults of servers and processes while visits come. */
import { setTimeout as delay } from 'node:timers/promises'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Site } from './site.js'

/** Memcached, or what has its part elsewhere. */
export interface Store {
  flush(): Promise<void>
  restart(): Promise<void>
  pause(): void
  resume(): void
}

export interface Stage {
  /** The same is done to all of them. */
  readonly stores: readonly Store[]
  readonly mariadb: Pick<MariaDb, 'restart'>
  readonly sites: readonly Site[]
  /** 0 up to 1: where a fault has a choice. */
  chance(): number
}

export interface Fault {
  readonly name: string
  /** The part that fails. Faults of different targets can happen at the same time. */
  readonly target: 'nothing' | 'web' | 'cache' | 'collector' | 'database'
  /** All writers live: wide-cache may lose nothing. */
  readonly writersLive: boolean
  /** It needs a database server of its own, not to disturb the other timelines. */
  readonly ownDatabase?: true
  /** Resolves when the fault is over. */
  run(stage: Stage): Promise<void>
}

const OUTAGE_MS = 10_000
/** Time that a supervisor takes to restart a process. */
const SUPERVISOR_MS = 1500
/** Collectors come at every tenth second; they are killed when they have hardly begun. */
const COLLECTING_MS = 10_000
const BEGUN_MS = 60
const KILLS = 3

export const NOTHING: Fault = {
  name: 'nothing',
  target: 'nothing',
  writersLive: true,
  run: async () => undefined,
}

export const FAULTS: readonly Fault[] = [
  NOTHING,
  {
    name: 'web process killed',
    target: 'web',
    writersLive: false,
    // One of two; in a timeline it stays dead.
    async run({ sites }) {
      for (const site of sites) site.killWebProcess()
    },
  },
  {
    name: 'cache flushed',
    target: 'cache',
    writersLive: true,
    run: async ({ stores }) => void (await Promise.all(stores.map((store) => store.flush()))),
  },
  {
    // SIGKILL, and started again at once.
    name: 'cache restarted',
    target: 'cache',
    writersLive: true,
    run: async ({ stores }) => void (await Promise.all(stores.map((store) => store.restart()))),
  },
  {
    name: 'cache silent 10 s',
    target: 'cache',
    writersLive: true,
    async run({ stores }) {
      for (const store of stores) store.pause()
      await delay(OUTAGE_MS)
      for (const store of stores) store.resume()
    },
  },
  {
    // SIGKILL, and started again by its supervisor; so often in a row.
    name: 'collector killed',
    target: 'collector',
    writersLive: true,
    async run({ sites, chance }) {
      await delay(COLLECTING_MS - (Date.now() % COLLECTING_MS) + chance() * BEGUN_MS)
      for (let kill = 1; kill <= KILLS; kill++) {
        for (const site of sites) site.killCollector()
        await delay(SUPERVISOR_MS)
        await Promise.all(sites.map((site) => site.startCollector()))
        if (kill < KILLS) await delay(chance() * SUPERVISOR_MS)
      }
    },
  },
  {
    name: 'database restarted',
    target: 'database',
    writersLive: true,
    ownDatabase: true,
    run: ({ mariadb }) => mariadb.restart(),
  },
]
