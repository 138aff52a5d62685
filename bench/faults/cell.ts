/**
 * A site that faults are tried on: a memcached and a Redis of its own, its own way to the database,
 * web processes with a writer of each contender, and a process with their collectors and workers.
 * What is done to one site, the others do not notice.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { FaultyTcp } from '../../test/servers/faulty-tcp.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import { Child } from '../harness/child.js'
import type { Bench } from '../harness/part.js'
import type { Contender } from './contenders.js'

const CLOSE_TIMEOUT_MS = 30_000
/**
 * As careful users run Redis: what is acknowledged is in the kernel's hands (a killed server loses
 * nothing), and on disk within a second.
 */
const PERSISTENCE = ['--appendonly', 'yes', '--appendfsync', 'everysec']

/** Memcached, or what has its part elsewhere. */
export interface Store {
  flush(): Promise<void>
  restart(): Promise<void>
  pause(): void
  resume(): void
}

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

interface Web {
  readonly child: Child
  readonly writers: readonly Writer[]
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

export class Cell {
  /** All that ever were. */
  readonly writers: Writer[] = []
  /** The same is done to all of them. */
  readonly stores: readonly Store[]
  readonly #site: Site
  readonly #proxy: FaultyTcp
  readonly #env: (contender: Contender) => object
  #webs: Web[] = []
  #worker: Child | undefined

  static async start(bench: Bench, site: Site): Promise<Cell> {
    const [memcached, redis, proxy] = await Promise.all([
      bench.memcached(),
      bench.redis(PERSISTENCE),
      bench.proxy(`127.0.0.1:${site.mariadb.port}`),
    ])
    const cell = new Cell(site, [memcached, redis], proxy, (contender) => {
      const mysqlUrl = new URL(site.mariadb.url(databaseOf(contender)))
      mysqlUrl.port = String(proxy.port)
      return {
        memcached: memcached.address,
        redisUrl: redis.url,
        mysqlUrl: mysqlUrl.href,
        name: nameOf(contender, site.number),
        options: site.options,
      }
    })
    bench.after(() => cell.#end())
    await Promise.all([cell.startWorker(), cell.startWebProcesses(site.since)])
    return cell
  }

  private constructor(
    site: Site,
    stores: readonly Store[],
    proxy: FaultyTcp,
    env: (contender: Contender) => object,
  ) {
    this.#site = site
    this.stores = stores
    this.#proxy = proxy
    this.#env = env
  }

  /** Starts those that are missing, with visits at once. */
  async startWebProcesses(since: Site['since'] = () => Date.now()): Promise<void> {
    const { number, contenders, webProcesses, folder } = this.#site
    const fresh: Promise<void>[] = []
    while (this.#webs.length < webProcesses) {
      const first = this.writers.length
      const writers = contenders.map((contender, at) => ({
        contender,
        name: nameOf(contender, number),
        prefix: `/${number}-${first + at}/`,
        file: `${folder}/${number}-${first + at}`,
        killed: false,
      }))
      this.writers.push(...writers)
      // A process may be killed before it has opened its own.
      for (const { file } of writers) writeFileSync(file, '')
      const given = writers.map(({ contender, prefix, file }) => ({
        peer: contender.peer,
        env: this.#env(contender),
        rate: contender.rate,
        prefix,
        file,
        since: since(contender),
      }))
      const child = new Child(new URL('./web.js', import.meta.url))
      this.#webs.push({ child, writers })
      // It may be killed before it has answered.
      fresh.push(child.ask('open', { writers: given }).catch(() => {}))
    }
    await Promise.all(fresh)
  }

  /** SIGKILL to the newest one: so the first one lives to the end if there are two. */
  killWebProcess(): void {
    const web = this.#webs.pop()!
    for (const writer of web.writers) writer.killed = true
    void web.child.end()
  }

  async startWorker(): Promise<void> {
    const { contenders, since } = this.#site
    const workers = contenders
      .filter(({ worker }) => worker)
      .map((contender) => ({
        peer: contender.peer,
        env: this.#env(contender),
        since: since(contender),
      }))
    this.#worker = new Child(new URL('./worker.js', import.meta.url))
    await this.#worker.ask('open', { workers }).catch(() => {})
  }

  killWorker(): void {
    void this.#worker?.end()
  }

  /** Ends all connections to the database, and refuses new ones. */
  cutDatabase(): Promise<void> {
    return this.#proxy.refuse()
  }

  restoreDatabase(): Promise<void> {
    return this.#proxy.listen()
  }

  stopTraffic(): void {
    for (const { child } of this.#webs) void child.ask('stop').catch(() => {})
  }

  /** Ends its processes in order: as before a deployment, all that they hold comes to SQL. */
  async finish(): Promise<void> {
    await Promise.all(this.#webs.map(({ child }) => closed(child)))
    if (this.#worker) await closed(this.#worker)
  }

  #end(): void {
    for (const child of [...this.#webs.map(({ child }) => child), this.#worker]) void child?.end()
  }
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
