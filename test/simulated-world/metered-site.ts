/**
 * A site in simulated time, whose processes are the real classes. It counts what each process asks
 * of the cache and of SQL, and makes them fail. Runs of one situation ask the same, so the counts
 * are compared exactly.
 */
import { memory } from '../../src/cache/memory.js'
import type { Cache } from '../../src/cache/cache.js'
import { type Database, DatabaseError } from '../../src/database/database.js'
import { runCronOnVirtualTime } from './cron.js'
import {
  type Asked,
  exploredCache,
  exploredDatabase,
  type SharedDatabase,
} from './explored-ports.js'
import type { Ports } from './explorer.js'
import { Random } from './random.js'
import { SimulatedProcess } from './simulated-process.js'
import { SqlEngine } from './sql-engine.js'
import { EPOCH, World } from './world.js'

runCronOnVirtualTime()

const TABLES = 'wide-cache activity hits counters sequence collision-free-map'

/** Trouble of a site: `locked`, each statement that takes a lock is refused as by a deadlock. */
export type Trouble = 'none' | 'cache away' | 'SQL away' | 'locked'

/** Requests by kind, and the `keys` and `rows` that they were about. */
export type Counts = Record<string, number>

export class MeteredSite {
  readonly world: World
  trouble: Trouble = 'none'
  /** Is asked for each request. Returns the error by which it fails, done or not. */
  failure: ((isOfCache: boolean) => { error: Error; isDone: boolean } | undefined) | undefined
  /** The longest times that requests take, in milliseconds. The seed draws each. */
  longestCacheMs = 1
  longestSqlMs = 1
  readonly #store: Cache = memory({ now: () => this.world.now })
  readonly #shared: SharedDatabase = {
    name: 'site',
    engine: SqlEngine.take(TABLES, 'site'),
    holder: undefined,
  }
  readonly #counts = new Map<string, Counts>()

  /** Of its own: processes that draw more numbers get the same delays. */
  readonly #delays: Random

  constructor(seed = 1, epoch = EPOCH) {
    this.#delays = new Random(~seed)
    this.world = new World(seed, new Random(seed), false, epoch)
  }

  /** The ports of another process. What it asks is counted under `name`. */
  process(name: string): Ports {
    const counts: Counts = {}
    this.#counts.set(name, counts)
    const { environment } = new SimulatedProcess(this.world, this.#counts.size)
    const ask = <T>(asked: Asked<T>): Promise<T> => this.#ask(counts, asked)
    const now = (): number => this.world.epoch + this.world.now
    const database: Database = {
      ...exploredDatabase(this.#shared, now, ask),
      now: () => ask({ what: 'now', work: now, error: () => lost() }),
    }
    return { cache: exploredCache(this.#store, ask), database, environment }
  }

  /** Runs a statement at once, uncounted. */
  run(sql: string): void {
    this.#shared.engine.run(sql, [])
  }

  /** Returns what each process asks while `ms` milliseconds go by. */
  async count(ms: number): Promise<Record<string, Counts>> {
    for (const counts of this.#counts.values()) for (const kind in counts) delete counts[kind]
    this.world.events = 0
    await this.world.pass(ms)
    return structuredClone(Object.fromEntries(this.#counts))
  }

  close(): void {
    this.#shared.engine.giveBack()
  }

  async #ask<T>(counts: Counts, asked: Asked<T>): Promise<T> {
    const [isOfCache, kind] = kindOf(asked.what)
    add(counts, kind, 1)
    if (kind === 'getMany') add(counts, 'keys', asked.reads?.length ?? 0)
    const longestMs = isOfCache ? this.longestCacheMs : this.longestSqlMs
    await this.#pass(this.#delays.between(1, longestMs))
    const fails =
      this.trouble === (isOfCache ? 'cache away' : 'SQL away') ||
      (this.trouble === 'locked' && !isOfCache && (asked.writes?.length ?? 0) > 0)
    if (fails) {
      const error = asked.error!()
      throw this.trouble === 'locked' ? locked() : error
    }
    while (!(asked.isReady?.() ?? true)) await this.#pass(1)
    const failure = this.failure?.(isOfCache)
    if (failure && !failure.isDone) {
      asked.error?.()
      throw failure.error
    }
    const result = await asked.work()
    if (failure) {
      asked.error?.()
      throw failure.error
    }
    if (!isOfCache) add(counts, 'rows', rowsOf(result))
    return result
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.world.after(ms, resolve))
  }
}

function kindOf(what: string): [isOfCache: boolean, kind: string] {
  const [first = '', second = ''] = what.split(' ')
  return first === 'cache' ? [true, second] : [false, first === 'tx' ? second : first]
}

function rowsOf(result: unknown): number {
  const { rows = [], affectedRows = 0 } = (result ?? {}) as {
    rows?: readonly unknown[]
    affectedRows?: number
  }
  return rows.length + affectedRows
}

function add(counts: Counts, kind: string, more: number): void {
  counts[kind] = (counts[kind] ?? 0) + more
}

function lost(): DatabaseError {
  return new DatabaseError('CONNECTION_LOST', 'unreachable', 'No answer, says the simulation')
}

function locked(): DatabaseError {
  return new DatabaseError('ER_LOCK_DEADLOCK', 'lock', 'A deadlock, says the simulation')
}
