/**
 * A site, running: `server.js` in a process of its own, with an app for each contender, and what
 * may be asked of it.
 */
import { readFileSync } from 'node:fs'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Memcached } from '../../test/servers/memcached.js'
import type { Child } from '../harness/child.js'
import type { Cores } from '../harness/cores.js'
import type { Bench } from '../harness/part.js'
import type { Target } from './load.js'

/** What all sites of a part have. */
export interface Setup {
  readonly bench: Bench
  readonly mariadb: MariaDb
  readonly memcached: Memcached
  /** Of logs. */
  readonly folder: string
  readonly renderings: number
  readonly alone: Cores['alone']
}

interface SiteOptions {
  /** An app for each. `peer`: the name of a file in `bench/peers/`. */
  readonly contenders: readonly ({
    readonly peer: string
    /** wide-cache: options of `createActivity()`. */
    readonly options?: { readonly collect: string }
  } & ({ readonly mysqlUrl: string } | { readonly postgresUrl: string }))[]
  /** Renderings of the page, for its 2 ms. */
  readonly renderings: number
  readonly memcached: string
  readonly redisUrl?: string
  /** Folder that loggers write to. */
  readonly folder?: string
}

const PROGRAM = new URL('./server.js', import.meta.url)

/** The Express app of one contender, on a port of its own. */
export type App = ReturnType<typeof appOf>

function appOf(child: Child, app: number, peer: string, port: number) {
  const target: Target = { port, served: 0 }
  return Object.assign(target, {
    /** Resolves when all is done that requests have begun: sent to a server, written to a file. */
    flush: (): Promise<void> => child.ask('flush', { app }),

    /** Resolves when all work that waits is done: what was counted has come to where it belongs. */
    finish: (): Promise<void> => child.ask('finish', { app }),

    /**
     * @throws Error if it has not counted so many when all pending work is done; by default, each
     *   answer once
     */
    async check(expected = target.served): Promise<void> {
      const count = await child.ask<number>('count', { app })
      if (count !== expected) throw new Error(`${peer} has counted ${count}, and not ${expected}`)
    },
  })
}

export type Site = Awaited<ReturnType<typeof startSite>>

/** Resolves when it takes visitors. `alone`: where it runs. */
export async function startSite(bench: Bench, options: SiteOptions, alone?: Cores['alone']) {
  const child = bench.child(PROGRAM, alone)
  const ports = await child.ask<number[]>('open', options)
  const { contenders } = options
  return {
    /** In the order of the contenders. */
    apps: contenders.map(({ peer }, app) => appOf(child, app, peer, ports[app]!)),

    /** Microseconds of CPU that the main thread of its process has taken, by /proc. */
    mainCpu(): number {
      const file = `/proc/${child.pid}/task/${child.pid}/schedstat`
      return Number(readFileSync(file, 'latin1').split(' ')[0]) / 1000
    },

    /** Microseconds of CPU that its process has taken, with all its threads. */
    cpu: (): Promise<number> => child.ask('cpu'),

    /** Never rejects. One that does not close is killed. */
    stop: () => child.close(),
  }
}
