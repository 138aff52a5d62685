/**
 * A site that faults are tried on: a memcached and a Redis of its own, its own way to the database,
 * web processes with a writer of each contender, and a process with their collectors and workers.
 * What is done to one site, the others do not notice.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type FaultyTcp, startFaultyTcp } from '../../test/servers/faulty-tcp.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Bench } from '../harness/part.js'
import type { Contender } from './contenders.js'

const CLOSE_TIMEOUT_MS = 30_000
/** The proxy keeps what it has passed on, for tests, until it is told to forget. */
const FORGET_MS = 250
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
  readonly child: ChildProcess
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
  #worker: ChildProcess | undefined

  static async start(bench: Bench, site: Site): Promise<Cell> {
    const [memcached, redis, proxy] = await Promise.all([
      bench.memcached(),
      bench.redis(PERSISTENCE),
      startFaultyTcp(`127.0.0.1:${site.mariadb.port}`),
    ])
    const forgetting = setInterval(() => proxy.forget(), FORGET_MS)
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
    bench.after(() => {
      clearInterval(forgetting)
      cell.#end()
      return proxy.close()
    })
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
      const child = forked('./web.js', given)
      this.#webs.push({ child, writers })
      fresh.push(ready(child))
    }
    await Promise.all(fresh)
  }

  /** SIGKILL to the newest one: so the first one lives to the end if there are two. */
  killWebProcess(): void {
    const web = this.#webs.pop()!
    for (const writer of web.writers) writer.killed = true
    web.child.kill('SIGKILL')
  }

  async startWorker(): Promise<void> {
    const { contenders, since } = this.#site
    const given = contenders
      .filter(({ worker }) => worker)
      .map((contender) => ({
        peer: contender.peer,
        env: this.#env(contender),
        since: since(contender),
      }))
    this.#worker = forked('./worker.js', given)
    await ready(this.#worker)
  }

  killWorker(): void {
    this.#worker?.kill('SIGKILL')
  }

  /** Ends all connections to the database, and refuses new ones. */
  cutDatabase(): Promise<void> {
    return this.#proxy.refuse()
  }

  restoreDatabase(): Promise<void> {
    return this.#proxy.listen()
  }

  stopTraffic(): void {
    for (const { child } of this.#webs) child.send('stop')
  }

  /** Ends its processes in order: as before a deployment, all that they hold comes to SQL. */
  async finish(): Promise<void> {
    await Promise.all(this.#webs.map(({ child }) => closed(child)))
    if (this.#worker) await closed(this.#worker)
  }

  #end(): void {
    for (const child of [...this.#webs.map(({ child }) => child), this.#worker]) {
      child?.kill('SIGKILL')
    }
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

/** Resolves when it has started, or was ended before that. */
async function ready(child: ChildProcess): Promise<void> {
  const started = new AbortController()
  const { signal } = started
  await Promise.race([once(child, 'message', { signal }), once(child, 'exit', { signal })])
  started.abort()
}

/** Plain JavaScript that imports the built package: no loader of ours in what is measured. */
function forked(file: string, writers: readonly object[]): ChildProcess {
  return fork(new URL(file, import.meta.url), {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: { ...process.env, WRITERS: JSON.stringify(writers) },
  })
}

/** Asks it to end, and waits; one that takes too long is killed. */
async function closed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  const timeout = setTimeout(() => child.kill('SIGKILL'), CLOSE_TIMEOUT_MS)
  child.send('close')
  await exit
  clearTimeout(timeout)
}
