/**
 * One contender in one timeline: its web processes, its collector, its database, and what came to
 * be there.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Pool, RowDataPacket } from 'mysql2/promise'
import type { Contender } from './contenders.js'

const COLLECT = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const WEB_PROCESSES = 2
const CLOSE_TIMEOUT_MS = 15_000
const COLUMNS =
  'COUNT(*) AS visits, COUNT(DISTINCT page) AS different, MAX(CAST(SUBSTRING_INDEX(page, ' +
  "'/', -1) AS UNSIGNED)) + 1 AS upTo"

export interface Environment {
  readonly memcached: string
  readonly redisUrl: string
  readonly mysqlUrl: string
  /** Options of `createActivity()`. */
  readonly options: Readonly<Record<string, unknown>>
}

/** Counts of the visits of one web process, by what became of them. */
export interface Outcome {
  readonly recorded: number
  /** The process was ended with SIGKILL. */
  readonly killed: boolean
  readonly lost: number
  readonly duplicated: number
  /** Number of lost visits that are older than one that is there. */
  readonly holes: number
}

export class Site {
  readonly contender: Contender
  readonly #database: string
  readonly #pool: Pool
  readonly #environment: Environment
  readonly #web: {
    readonly child: ChildProcess
    readonly prefix: string
    readonly file: string
    killed: boolean
  }[] = []
  #collector: ChildProcess | undefined
  #given = { rate: 0, folder: '' }

  /** `pool` may read `database`. */
  constructor(contender: Contender, database: string, pool: Pool, environment: Environment) {
    this.contender = contender
    this.#database = database
    this.#pool = pool
    this.#environment = environment
  }

  /** Resolves when all its processes are ready. */
  async start(rate: number, folder: string): Promise<void> {
    this.#given = { rate: rate / WEB_PROCESSES, folder }
    await Promise.all([this.#startWebProcesses(), this.startCollector()])
  }

  /** Starts a web process for each that was killed, with visits from now on. */
  async replenish(): Promise<void> {
    for (const { child } of await this.#startWebProcesses()) child.send('go')
  }

  async #startWebProcesses(): Promise<{ readonly child: ChildProcess }[]> {
    const { peer } = this.contender
    const { rate, folder } = this.#given
    const living = this.#web.filter(({ killed }) => !killed).length
    const fresh = Array.from({ length: WEB_PROCESSES - living }, (_, i) => {
      const at = this.#web.length + i
      const [prefix, file] = [`/${at}/`, `${folder}/${peer}-${at}`]
      const given = { peer, env: this.#environment, rate, prefix, file }
      const child = forked('./web.js', { WEB_PROCESS: JSON.stringify(given) })
      return { child, prefix, file, killed: false }
    })
    this.#web.push(...fresh)
    await Promise.all(fresh.map(({ child }) => once(child, 'message')))
    return fresh
  }

  go(): void {
    for (const { child } of this.#web) child.send('go')
  }

  stopTraffic(): void {
    for (const { child } of this.#web) if (child.connected) child.send('stop')
  }

  /** The newest that lives: so the first one lives to the end. */
  killWebProcess(): void {
    const web = this.#web.findLast(({ killed }) => !killed)!
    web.killed = true
    web.child.kill('SIGKILL')
  }

  /** Visits that web processes have recorded so far: all of them, and those that live. */
  recorded(): { readonly all: number; readonly living: number } {
    const sums = { all: 0, living: 0 }
    for (const { file, killed } of this.#web) {
      const recorded = Number(readFileSync(file, 'utf8'))
      sums.all += recorded
      if (!killed) sums.living += recorded
    }
    return sums
  }

  killCollector(): void {
    this.#collector?.kill('SIGKILL')
  }

  async startCollector(): Promise<void> {
    const {
      contender: { collector, peer },
    } = this
    const { memcached, mysqlUrl } = this.#environment
    if (collector === 'wide-cache collect') {
      const { collect, layerSeconds, drainAfterLayers } = this.#environment.options
      const flags = Object.entries({
        collect,
        'layer-seconds': layerSeconds,
        'drain-after-layers': drainAfterLayers,
      }).flatMap(([flag, value]) =>
        value === undefined || value === false ? [] : [`--${flag}`, String(value)],
      )
      this.#collector = spawn(process.execPath, [COLLECT, 'collect', ...flags], {
        stdio: 'ignore',
        env: { ...process.env, MEMCACHE_SERVERS: memcached, DATABASE_URL: mysqlUrl },
      })
    } else if (collector) {
      this.#collector = forked('./worker.js', {
        WORKER_PROCESS: JSON.stringify({ peer, env: this.#environment }),
      })
      await once(this.#collector, 'message')
    }
  }

  /** Rows of visits up to this moment (milliseconds since the Unix epoch). */
  async rows(until: number): Promise<number> {
    const [[row]] = await this.#pool.query<RowDataPacket[]>(
      `SELECT COUNT(*) AS n FROM ${this.#table} WHERE created_at <= ?`,
      [until],
    )
    return Number(row!['n'])
  }

  /** All visits so far are in SQL. */
  async complete(): Promise<boolean> {
    return (await this.outcomes()).every(({ lost }) => lost === 0)
  }

  /** By web process. @throws Error if there is a visit that nobody recorded */
  outcomes(): Promise<Outcome[]> {
    return Promise.all(
      this.#web.map(async ({ prefix, file, killed }) => {
        const [[row]] = await this.#pool.query<RowDataPacket[]>(
          `SELECT ${COLUMNS} FROM ${this.#table} WHERE page LIKE ?`,
          [`${prefix}%`],
        )
        const [visits, different, upTo] = [
          Number(row!['visits']),
          Number(row!['different']),
          Number(row!['upTo'] ?? 0),
        ]
        const recorded = Number(readFileSync(file, 'utf8'))
        if (upTo > recorded) {
          throw new Error(
            `${this.contender.label} has visit ${upTo}, of ${recorded} that were recorded`,
          )
        }
        return {
          recorded,
          killed,
          lost: recorded - different,
          duplicated: visits - different,
          holes: upTo - different,
        }
      }),
    )
  }

  /** Ends its processes in order: as before a deployment, all that they hold comes to SQL. */
  async finish(): Promise<void> {
    await Promise.all(this.#web.map(({ child }) => ended(child, () => child.send('close'))))
    const collector = this.#collector
    if (collector) {
      await ended(collector, () =>
        collector.connected ? collector.send('finish') : collector.kill('SIGTERM'),
      )
    }
    if (this.contender.collector === 'wide-cache collect') {
      // What a killed process left in the youngest layers, for which the collector would have come
      // later.
      const { start } = await import('../peers/wide-cache.js')
      const last = start(this.#environment)
      await last.finish()
      await last.close()
    }
  }

  kill(): void {
    for (const child of [...this.#web.map(({ child }) => child), this.#collector]) {
      child?.kill('SIGKILL')
    }
  }

  get #table(): string {
    return `${this.#database}.${this.contender.table}`
  }
}

/** Plain JavaScript that imports the built package: no loader of ours in what is measured. */
function forked(file: string, environment: Readonly<Record<string, string>>): ChildProcess {
  return fork(new URL(file, import.meta.url), {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: { ...process.env, ...environment },
  })
}

/** Asks it to end, and waits; one that takes too long is killed. */
async function ended(child: ChildProcess, ask: () => unknown): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  const timeout = setTimeout(() => child.kill('SIGKILL'), CLOSE_TIMEOUT_MS)
  ask()
  await exit
  clearTimeout(timeout)
}
