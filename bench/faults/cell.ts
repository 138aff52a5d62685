/**
 * A site that faults are tried on: a memcached and a Redis of its own, its own way to the database,
 * web processes with a writer of each contender, and a process with their collectors and workers.
 * What is done to one site, the others do not notice.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { MariaDb } from '../../test/servers/mariadb.js'
import { Child } from '../harness/child.js'
import type { Bench } from '../harness/part.js'
import { urlThrough } from '../harness/sql.js'
import type { Contender } from './contenders.js'

const CLOSE_TIMEOUT_MS = 30_000
/**
 * As careful users run Redis: what is acknowledged is in the kernel's hands (a killed server loses
 * nothing), and on disk within a second.
 */
const PERSISTENCE = ['--appendonly', 'yes', '--appendfsync', 'everysec']

export interface Writer {
  readonly contender: Contender
  /** Of its grid: that of its site. */
  readonly name: string
  /** All its pages begin with it. */
  readonly prefix: string
  /** The moments of its visits, eight bytes each. */
  readonly file: string
  killed: boolean
}

export interface Site {
  readonly number: number
  readonly contenders: readonly Contender[]
  readonly webProcesses: number
  readonly mariadb: MariaDb
  readonly folder: string
  /** Options of `createActivity()`. */
  readonly options: Readonly<Record<string, unknown>>
  /** The moment (ms since the Unix epoch) at which each contender's period begins. */
  readonly since: (contender: Contender) => number
}

export type Cell = Awaited<ReturnType<typeof startCell>>

export async function startCell(bench: Bench, site: Site) {
  const { number, contenders, webProcesses, mariadb, folder, options } = site
  const [memcached, redis, proxy] = await Promise.all([
    bench.memcached(),
    bench.redis(PERSISTENCE),
    bench.proxy(`127.0.0.1:${mariadb.port}`),
  ])
  const envOf = (contender: Contender): object => ({
    memcached: memcached.address,
    redisUrl: redis.url,
    mysqlUrl: urlThrough(proxy.port, mariadb.url(databaseOf(contender))),
    name: nameOf(contender, number),
    options,
  })
  const writers: Writer[] = []
  const webs: { readonly child: Child; readonly writers: readonly Writer[] }[] = []
  let worker: Child | undefined
  bench.after(() => {
    for (const child of [...webs.map((web) => web.child), worker]) void child?.end()
  })
  const cell = {
    /** All that ever were. */
    writers,
    /** Memcached, and what has its part elsewhere: the same is done to both. */
    stores: [memcached, redis],

    /** Starts those that are missing, with visits at once. */
    async startWebProcesses(since: Site['since'] = () => Date.now()): Promise<void> {
      const fresh: Promise<void>[] = []
      while (webs.length < webProcesses) {
        const first = writers.length
        const own = contenders.map((contender, at) => ({
          contender,
          name: nameOf(contender, number),
          prefix: `/${number}-${first + at}/`,
          file: `${folder}/${number}-${first + at}`,
          killed: false,
        }))
        writers.push(...own)
        // A process may be killed before it has opened its own.
        for (const { file } of own) writeFileSync(file, '')
        const given = own.map(({ contender, prefix, file }) => {
          const { peer, rate } = contender
          return { peer, env: envOf(contender), rate, prefix, file, since: since(contender) }
        })
        const child = new Child(new URL('./web.js', import.meta.url))
        webs.push({ child, writers: own })
        // It may be killed before it has answered.
        fresh.push(child.ask('open', { writers: given }).catch(() => {}))
      }
      await Promise.all(fresh)
    },

    /** SIGKILL to the newest one: so the first one lives to the end if there are two. */
    killWebProcess(): void {
      const web = webs.pop()!
      for (const writer of web.writers) writer.killed = true
      void web.child.end()
    },

    async startWorker(): Promise<void> {
      const workers = contenders.flatMap((contender) => {
        const { peer, worker: has } = contender
        return has ? [{ peer, env: envOf(contender), since: site.since(contender) }] : []
      })
      worker = new Child(new URL('./worker.js', import.meta.url))
      await worker.ask('open', { workers }).catch(() => {})
    },

    killWorker: (): void => void worker?.end(),

    /** Ends all connections to the database, and refuses new ones. */
    cutDatabase: () => proxy.refuse(),
    restoreDatabase: () => proxy.listen(),

    stopTraffic(): void {
      for (const { child } of webs) void child.ask('stop').catch(() => {})
    },

    /** Ends its processes in order: as before a deployment, all that they hold comes to SQL. */
    async finish(): Promise<void> {
      await Promise.all(webs.map(({ child }) => closed(child)))
      if (worker) await closed(worker)
    },
  }
  await Promise.all([cell.startWorker(), cell.startWebProcesses(site.since)])
  return cell
}

export function databaseOf({ peer }: Contender): string {
  return `faults_${peer.replaceAll('-', '_')}`
}

function nameOf({ peer }: Contender, site: number): string {
  return `${peer}-${site}`
}

/** The moments of the visits that a writer has recorded. */
export function timesOf({ file }: Writer): Float64Array {
  const bytes = readFileSync(file)
  return new Float64Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 8))
}

/** Asks it to end, and waits; one that takes too long is killed. */
async function closed(child: Child): Promise<void> {
  await Promise.race([
    child.ask('close').catch(() => {}),
    delay(CLOSE_TIMEOUT_MS, undefined, { ref: false }),
  ])
  await child.end()
}
