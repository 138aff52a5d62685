/** A site of several processes on real servers: writers, collectors, memcached and a database. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { mysql } from '../../src/database/mysql/mysql.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import type { CloseReport } from '../../src/wide-cache/writer/closing.js'
import type { LedgerReport } from '../../src/wide-cache/ledger/report.js'
import { committedSum } from '../../src/wide-cache/ledger/sums.js'
import { fewOrMany } from '../scale.js'
import { startMariadb } from '../servers/mariadb.js'
import { startMemcached } from '../servers/memcached.js'
import { sharedMysqlUrl } from '../servers/shared.js'
import { createRecorded, NAME, openRecorded } from './recorded.js'

export const WRITERS = 4
export const ROWS_A_WRITER = fewOrMany(6_000, 50_000)
/** Longer than a busy machine needs: how soon a writer closes is not what these tests ask. */
const CLOSE_MS = 300_000
const COLLECTORS = 2

export interface WriterProcess {
  readonly child: ChildProcess
  /** Rows it has said to have recorded. */
  recorded: number
  done: boolean
  closed: CloseReport | undefined
}

/** Contents of SQL in the end. */
export interface Outcome {
  readonly rows: number
  readonly distinct: number
  /** Number of rows of each writer, and the number of its last. */
  readonly writers: { rows: number; last: number }[]
  readonly ledger: LedgerReport
}

export type Site = Awaited<ReturnType<typeof startSite>>

/**
 * With `ownMariadb` its database is on a server that no other test uses, and may be restarted. With
 * `cacheUrl` it uses a cache that the test has started, and no memcached.
 */
export async function startSite({
  cacheUrl = '',
  memcachedServers = 1,
  slowCommit = false,
  ownMariadb = false,
} = {}) {
  const memcached = await Promise.all(
    Array.from({ length: cacheUrl === '' ? memcachedServers : 0 }, () => startMemcached()),
  )
  const mariadb = ownMariadb ? await startMariadb() : undefined
  const database = mariadb?.url() ?? (await sharedMysqlUrl())
  const cache = cacheUrl || `memcached://${memcached.map(({ address }) => address).join(',')}`
  const sql = mysql(database)
  await createRecorded(sql)
  const children: ChildProcess[] = []
  const start = (
    script: string,
    assignment: object,
    environment: NodeJS.ProcessEnv = {},
  ): ChildProcess => {
    const child = fork(fileURLToPath(new URL(script, import.meta.url)), {
      env: {
        ...process.env,
        ...environment,
        ASSIGNMENT: JSON.stringify({ cache, database, collect: false, ...assignment }),
      },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    child.stderr?.resume()
    children.push(child)
    return child
  }
  const collectors = Array.from({ length: COLLECTORS }, () =>
    start(
      './collector-process.ts',
      { collect: '* * * * * *' },
      slowCommit ? { SLOW_COMMIT: '1' } : {},
    ),
  )
  const writers = Array.from({ length: WRITERS }, (_, writer): WriterProcess => {
    const state: WriterProcess = {
      child: start('./writer-process.ts', {
        writer,
        rows: ROWS_A_WRITER,
        closeTimeoutMs: CLOSE_MS,
      }),
      recorded: 0,
      done: false,
      closed: undefined,
    }
    state.child.on(
      'message',
      (message: { recorded: number; done?: boolean; closed?: CloseReport }) => {
        state.recorded = message.recorded
        state.done ||= message.done === true
        state.closed ??= message.closed
      },
    )
    return state
  })
  const gone = async (child: ChildProcess): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }

  return {
    memcached,
    mariadb,
    database,
    collectors,
    writers,

    /** Resolves when about this share of all rows has been recorded. */
    async recordedShare(share: number): Promise<void> {
      await eventually(
        `${share} of all rows are recorded`,
        () =>
          writers.reduce((sum, { recorded }) => sum + recorded, 0) >=
          share * WRITERS * ROWS_A_WRITER,
      )
    },

    /** Ends a process by a signal, and resolves when it is gone. */
    async end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
      child.kill(signal)
      await gone(child)
    },

    /**
     * Waits until all writers that live have recorded all, closes them in order, and says what SQL
     * has.
     */
    async finish(expected: number): Promise<Outcome> {
      const living = writers.filter(
        ({ child }) => child.exitCode === null && child.signalCode === null,
      )
      await eventually('all rows are recorded', () => living.every(({ done }) => done))
      // The ledger's sum, which is quick to read. It commits with the rows.
      await eventually(`${expected} rows are in SQL`, async () => {
        const { rows } = await sql.query(...committedSum(NAME))
        return Number(rows[0]?.['committed']) >= expected
      })
      await Promise.all(living.map(({ child }) => this.end(child, 'SIGTERM')))
      const reader = openRecorded({ cache, database, collect: false })
      // What a killed writer left in cells may still be on its way.
      await reader.drain({ all: true })
      const { rows } = await sql.query(
        'SELECT writer, COUNT(*) AS n, COUNT(DISTINCT number) AS different, MAX(number) AS last ' +
          'FROM recorded GROUP BY writer ORDER BY writer',
      )
      const ledger = await reader.ledger()
      await reader.close()
      const sum = (column: string) => rows.reduce((sum, row) => sum + Number(row[column]), 0)
      return {
        rows: sum('n'),
        distinct: sum('different'),
        writers: rows.map((row) => ({ rows: Number(row['n']), last: Number(row['last']) })),
        ledger,
      }
    },

    async stop(): Promise<void> {
      for (const child of children) child.kill('SIGKILL')
      await Promise.all(children.map(gone))
      await sql.close()
      await Promise.all([...memcached.map((server) => server.kill()), mariadb?.stop()])
    },
  }
}
