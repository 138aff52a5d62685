/**
 * Sites that faults are tried on, with one database: each has a memcached and a Redis of its own,
 * its own way to the database, web processes with a writer of each contender, and a process with
 * their collectors and workers. What is done to one site, the others do not notice.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createPool } from 'mysql2/promise'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import type { Child } from '../harness/child.js'
import type { Bench } from '../harness/part.js'
import { urlThrough } from '../harness/sql.js'
import { WORKER } from '../overhead/worker.js'
import type { Contender } from './contenders.js'
import { openTable } from './table.js'

/** Many connections of many processes, which share a machine with what they measure. */
const DATABASE_OPTIONS = ['--max-connections=2000', '--innodb-buffer-pool-size=512M']
/**
 * As careful users run Redis: what is acknowledged is in the kernel's hands (a killed server loses
 * nothing), and on disk within a second.
 */
const PERSISTENCE = ['--appendonly', 'yes', '--appendfsync', 'everysec']
const WEB = new URL('./web.js', import.meta.url)

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

interface Plan {
  readonly count: number
  readonly contenders: readonly Contender[]
  readonly webProcesses: number
  /** Options of `createActivity()`. */
  readonly options: Readonly<Record<string, unknown>>
  /** The moment (ms since the Unix epoch) at which a contender's period begins in a cell. */
  readonly since: (contender: Contender, cell: number) => number
}

export type Sql = Awaited<ReturnType<typeof startSql>>

/** A database with the tables of the contenders. */
export async function startSql(bench: Bench, contenders: readonly Contender[]) {
  bench.progress('starting the database')
  const mariadb = await bench.mariadb(DATABASE_OPTIONS)
  const pool = createPool({ uri: mariadb.url(), connectionLimit: 2 })
  bench.after(() => pool.end())
  for (const contender of contenders) {
    await openTable(mariadb, databaseOf(contender), contender.peer)
  }
  return { mariadb, pool }
}

export async function startCells(bench: Bench, sql: Sql, plan: Plan): Promise<Cell[]> {
  const folder = temporaryFolder('faults')
  bench.after(() => removeFolder(folder))
  const cells: Cell[] = []
  for (let number = 0; number < plan.count; number++) {
    bench.progress(`starting site ${number + 1} of ${plan.count}`)
    cells.push(await startCell(bench, sql, plan, folder, number))
  }
  return cells
}

/** Resolves when all is in SQL that ever comes. `wait`: after it the rest is brought at once. */
export async function endCells(cells: readonly Cell[], wait: Promise<unknown>): Promise<void> {
  for (const cell of cells) cell.stopTraffic()
  await wait
  await Promise.all(cells.map((cell) => cell.finish()))
}

export type Cell = Awaited<ReturnType<typeof startCell>>

async function startCell(
  bench: Bench,
  { mariadb }: Sql,
  { contenders, webProcesses, options, since }: Plan,
  folder: string,
  number: number,
) {
  const [memcached, redis, proxy] = await Promise.all([
    bench.memcached(),
    bench.redis(PERSISTENCE),
    bench.proxy(`127.0.0.1:${mariadb.port}`),
  ])
  const nameOf = ({ peer }: Contender): string => `${peer}-${number}`
  const envOf = (contender: Contender, since: number): object => ({
    memcached: memcached.address,
    redisUrl: redis.url,
    mysqlUrl: urlThrough(proxy.port, mariadb.url(databaseOf(contender))),
    name: nameOf(contender),
    options,
    since,
  })
  const writers: Writer[] = []
  const webs: { readonly child: Child; readonly writers: readonly Writer[] }[] = []
  let worker: Child | undefined
  const cell = {
    /** All that ever were. */
    writers,
    /** Memcached, and what has its part elsewhere: the same is done to both. */
    stores: [memcached, redis],

    /** Starts those that are missing, with visits at once. */
    async startWebProcesses(since: Plan['since'] = () => Date.now()): Promise<void> {
      const fresh: Promise<void>[] = []
      while (webs.length < webProcesses) {
        const first = writers.length
        const own = contenders.map((contender, at) => ({
          contender,
          name: nameOf(contender),
          prefix: `/${number}-${first + at}/`,
          file: `${folder}/${number}-${first + at}`,
          killed: false,
        }))
        writers.push(...own)
        // A process may be killed before it has opened its own.
        for (const { file } of own) writeFileSync(file, '')
        const given = own.map(({ contender, prefix, file }) => {
          const { peer, rate } = contender
          return { peer, env: envOf(contender, since(contender, number)), rate, prefix, file }
        })
        const child = bench.child(WEB)
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
      const workers = contenders
        .filter((contender) => contender.worker)
        .map((each) => ({ peer: each.peer, env: envOf(each, since(each, number)) }))
      worker = bench.child(WORKER)
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
      await Promise.all(webs.map(({ child }) => child.close()))
      await worker?.close()
    },
  }
  await Promise.all([cell.startWorker(), cell.startWebProcesses(since)])
  return cell
}

export function databaseOf({ peer }: Contender): string {
  return `faults_${peer.replaceAll('-', '_')}`
}

/** The moments of the visits that a writer has recorded. */
export function timesOf({ file }: Writer): Float64Array {
  const bytes = readFileSync(file)
  return new Float64Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 8))
}
