/**
 * One measurement: writers record visits at a stated rate, a collector drains meanwhile, all close
 * in order, all is counted.
 */
import { createConnection, type Connection } from 'mysql2/promise'
import type { LedgerReport } from '../../src/wide-cache/ledger/report.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Memcached } from '../../test/servers/memcached.js'
import type { Child } from '../harness/child.js'
import {
  type CacheWork,
  cacheWork,
  lookAtCaches,
  lookAtDatabase,
  type SqlWork,
  sqlWork,
} from './counters.js'
import type { Bench } from '../harness/part.js'
import { rowOf } from '../harness/sql.js'
import { sum } from '../harness/statistics.js'

export interface Setting {
  readonly processes: number
  readonly servers: number
  readonly width: number
  /** Visits a second of each process. */
  readonly rate: number
  /**
   * Number of writers. If there are more than processes, each process plays several web processes.
   */
  readonly writers: number
}

export interface Outcome {
  readonly visits: number
  /** Rows that SQL has, and how many of them are different visits. */
  readonly rows: number
  readonly different: number
  readonly ledger: LedgerReport
  /** CPU time of all writers' processes, the generator's work included. */
  readonly webCpuMicros: number
  readonly cache: CacheWork
  readonly sql: SqlWork
  readonly collector: Collected
  /** Between which times of the clock visits were made and placed. */
  readonly began: number
  readonly ended: number
}

/**
 * Work of the collector from the first visit until the last cell was drained; `layers` with those
 * that were empty.
 */
export interface Collected {
  readonly rows: number
  readonly frames: number
  readonly cells: number
  readonly layers: number
  readonly duplicate: number
  /** Wall-clock time of drains that found something. */
  readonly busyMs: number
  readonly cpuMicros: number
}

const OPTIONS = { cellTtlSeconds: 60, closeTimeoutMs: 60_000 }

/**
 * Time that the collector may take for what is left after the last visit, on a machine that is busy
 * with other things.
 */
const PATIENCE_MS = 60_000

interface Metered {
  readonly visits: number
  readonly began: number
  readonly ended: number
  readonly cpuMicros: number
}

export class Experiment {
  readonly #memcached: readonly Memcached[]
  readonly #mariadb: MariaDb
  readonly #writers: readonly Child[]
  readonly #collector: Child
  readonly #connection: Connection

  private constructor(
    bench: Bench,
    memcached: readonly Memcached[],
    mariadb: MariaDb,
    processes: number,
    connection: Connection,
  ) {
    this.#memcached = memcached
    this.#mariadb = mariadb
    this.#connection = connection
    const writer = new URL('./writer.js', import.meta.url)
    this.#writers = Array.from({ length: processes }, () => bench.child(writer))
    this.#collector = bench.child(new URL('./collector.js', import.meta.url))
  }

  static async start(
    bench: Bench,
    memcached: readonly Memcached[],
    mariadb: MariaDb,
    processes: number,
  ): Promise<Experiment> {
    const connection = await createConnection(mariadb.url())
    bench.after(() => connection.end())
    return new Experiment(bench, memcached, mariadb, processes, connection)
  }

  /** CPU µs a visit of the generator alone, in so many processes at once. */
  async idle(processes: number, rate: number, seconds: number): Promise<number> {
    const each = await Promise.all(
      this.#writers
        .slice(0, processes)
        .map((child, writer) => child.ask<Metered>('idle', { rate, seconds, writer })),
    )
    return total(each, 'cpuMicros') / total(each, 'visits')
  }

  /** `name`: of a grid that nobody has used. */
  async run(
    name: string,
    { processes, servers, width, rate, writers }: Setting,
    seconds: number,
  ): Promise<Outcome> {
    const children = this.#writers.slice(0, processes)
    const caches = this.#memcached.slice(0, servers)
    const site = {
      servers: caches.map(({ address }) => address).join(','),
      mysqlUrl: this.#mariadb.url(),
      options: { ...OPTIONS, name, width },
    }
    await this.#collector.ask('open', site)
    await Promise.all(
      children.map((child) => child.ask('open', { ...site, writers: writers / processes })),
    )

    const look = () =>
      Promise.all([
        lookAtCaches(caches.map(({ port }) => port)),
        lookAtDatabase(this.#connection, this.#mariadb.pid),
      ])
    const [cacheBefore, sqlBefore] = await look()
    await this.#collector.ask('start')
    const each = await Promise.all(
      children.map((child, writer) => child.ask<Metered>('record', { rate, seconds, writer })),
    )
    const visits = total(each, 'visits')
    const collector = await this.#collector.ask<Collected>('finish', {
      rows: visits,
      patienceMs: PATIENCE_MS,
    })
    const [cacheAfter, sqlAfter] = await look()

    // What they hold they commit once more: the ledger knows it.
    await Promise.all(children.map((child) => child.ask('close')))
    const ledger = await this.#collector.ask<LedgerReport>('ledger')
    await this.#collector.ask('close')
    const counted = await rowOf<'rows' | 'different'>(
      this.#connection,
      'SELECT COUNT(*) AS `rows`, COUNT(DISTINCT page) AS different FROM activities ' +
        'WHERE name = ?',
      [name],
    )
    return {
      visits,
      ...counted,
      ledger,
      webCpuMicros: total(each, 'cpuMicros'),
      cache: cacheWork(cacheBefore, cacheAfter),
      sql: sqlWork(sqlBefore, sqlAfter),
      collector,
      began: Math.min(...each.map(({ began }) => began)),
      ended: Math.max(...each.map(({ ended }) => ended)),
    }
  }
}

function total(each: readonly Metered[], what: 'visits' | 'cpuMicros'): number {
  return sum(each.map((one) => one[what]))
}
