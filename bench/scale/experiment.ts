/**
 * One measurement: writers record visits at a stated rate, a collector drains meanwhile, all close
 * in order, all is counted.
 */
import type { Connection } from 'mysql2/promise'
import type { LedgerReport } from '../../src/wide-cache/ledger/report.js'
import type { MariaDb } from '../../test/servers/mariadb.js'
import type { Memcached } from '../../test/servers/memcached.js'
import { cacheWork, lookAtCaches, lookAtDatabase, sqlWork } from './counters.js'
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

type Experiment = ReturnType<typeof experimentOn>

/** What SQL, cache and processes have of a run. */
export type Outcome = Awaited<ReturnType<Experiment['run']>>

/**
 * Work of the collector from the first visit until the last cell was drained; `layers` with those
 * that were empty. `busyMs`: wall-clock time of drains that found something.
 */
type Collected = Record<'rows' | 'frames' | 'layers' | 'busyMs' | 'cpuMicros', number>

const OPTIONS = { cellTtlSeconds: 60, closeTimeoutMs: 60_000 }

/**
 * Time that the collector may take for what is left after the last visit, on a machine that is busy
 * with other things.
 */
const PATIENCE_MS = 60_000

type Metered = Record<'visits' | 'began' | 'ended' | 'cpuMicros', number>

/** `connection`: to the database, for looking. */
export function experimentOn(
  bench: Bench,
  memcached: readonly Memcached[],
  mariadb: MariaDb,
  connection: Connection,
  processes: number,
) {
  const program = new URL('./process.js', import.meta.url)
  const writers = Array.from({ length: processes }, () => bench.child(program))
  const collector = bench.child(program)
  return {
    /** CPU µs a visit of the generator alone, in so many processes at once. */
    async idle(processes: number, rate: number, seconds: number): Promise<number> {
      const each = await Promise.all(
        writers
          .slice(0, processes)
          .map((child, writer) => child.ask<Metered>('idle', { rate, seconds, writer })),
      )
      return total(each, 'cpuMicros') / total(each, 'visits')
    },

    /** `name`: of a grid that nobody has used. */
    async run(name: string, setting: Setting, seconds: number) {
      const { processes, servers, width, rate } = setting
      const children = writers.slice(0, processes)
      const caches = memcached.slice(0, servers)
      const site = {
        servers: caches.map(({ address }) => address).join(','),
        mysqlUrl: mariadb.url(),
        options: { ...OPTIONS, name, width },
      }
      await collector.ask('open', { ...site, writers: 1 })
      await collector.ask('skip')
      await Promise.all(
        children.map((child) =>
          child.ask('open', { ...site, writers: setting.writers / processes }),
        ),
      )

      const look = () =>
        Promise.all([
          lookAtCaches(caches.map(({ port }) => port)),
          lookAtDatabase(connection, mariadb.pid),
        ])
      const [cacheBefore, sqlBefore] = await look()
      await collector.ask('collect')
      const each = await Promise.all(
        children.map((child, writer) => child.ask<Metered>('record', { rate, seconds, writer })),
      )
      const visits = total(each, 'visits')
      const collected = await collector.ask<Collected>('finish', {
        rows: visits,
        patienceMs: PATIENCE_MS,
      })
      const [cacheAfter, sqlAfter] = await look()

      // What they hold they commit once more: the ledger knows it.
      await Promise.all(children.map((child) => child.ask('close')))
      const ledger = await collector.ask<LedgerReport>('ledger')
      await collector.ask('close')
      const counted = await rowOf<'rows' | 'different'>(
        connection,
        'SELECT COUNT(*) AS `rows`, COUNT(DISTINCT page) AS different FROM activities ' +
          'WHERE name = ?',
        [name],
      )
      return {
        visits,
        /** Rows that SQL has, and how many of them are different visits. */
        ...counted,
        ledger,
        /** CPU time of all writers' processes, the generator's work included. */
        webCpuMicros: total(each, 'cpuMicros'),
        cache: cacheWork(cacheBefore, cacheAfter),
        sql: sqlWork(sqlBefore, sqlAfter),
        collector: collected,
        /** Between which times of the clock visits were made and placed. */
        began: Math.min(...each.map(({ began }) => began)),
        ended: Math.max(...each.map(({ ended }) => ended)),
      }
    },
  }
}

function total(each: readonly Metered[], what: 'visits' | 'cpuMicros'): number {
  return sum(each.map((one) => one[what]))
}
