/**
 * A flood of new pages through frames and a collector, with a normal site beside it; what it leaves
 * in SQL, and what it has cost.
 */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { recountRows } from '../../src/activity/hour-recount.js'
import type { Database } from '../../src/database/database.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { type Activity, createActivity } from '../../src/index.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { SILENT } from '../../src/support/logger.js'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'
import { wrapped } from '../servers/wrapped.js'

export interface FloodOptions {
  readonly database: string
  readonly cache: string
  readonly name: string
  readonly seconds: number
  /** New pages a second, and views of the normal site. */
  readonly newPages: number
  readonly views: number
}

/** Page views that were recorded. */
export interface Recorded {
  all: number
  readonly normal: Record<string, number>
  /** Views of a page that began when the hour had been full for long. */
  popular: number
}

/** Options of both processes. */
export const GRID = { cellTtlSeconds: 600, closeTimeoutMs: 60_000 } as const

/** Outcome of a flood. */
export interface Flood {
  /** Most values of an hour of a dimension at any look, and at the end. */
  readonly mostValues: number
  readonly valuesAtEnd: number
  /** Looks so far, of which some came while hours had more values than they keep. */
  readonly looks: number
  /** Milliseconds: how old the figures were when the flood had ended, and the slowest `top()`. */
  readonly behindMs: number
  readonly topMs: number
  /** Milliseconds for which each transaction of the collector held the books. */
  readonly folds: readonly number[]
  readonly commits: readonly number[]
  /** Memory of the collector's process, in bytes: the most there was, and what there was before. */
  readonly memory: readonly [before: number, most: number]
  /** Share of one processor that the collector's process has used. */
  readonly processor: number
}

const PROGRAM = fileURLToPath(new URL('./flood-process.ts', import.meta.url))
const LOOK_EVERY_MS = 200
const HOUR_MS = 3_600_000

/** Floods a new name, and checks every figure that is left. @throws AssertionError */
export async function flood(options: FloodOptions): Promise<Flood> {
  const { name, cache } = options
  const sql = mysql(options.database)
  const held = new Holds()
  const database = held.watching(sql)
  const collector = createActivity({ ...GRID, name, cache, database, logger: SILENT })
  try {
    await collector.migrate()
    const measured = await watch(sql, collector, options)
    return { ...measured, folds: held.folds, commits: held.commits }
  } finally {
    await collector.close()
    await sql.close()
  }
}

async function watch(
  sql: Database,
  collector: Activity,
  options: FloodOptions,
): Promise<Omit<Flood, 'folds' | 'commits'>> {
  const { name } = options
  const memory: [number, number] = [process.memoryUsage().rss, 0]
  const cpu = process.cpuUsage()
  const began = Date.now()
  let [mostValues, looks, topMs, isOver] = [0, 0, 0, false]
  const look = async (): Promise<void> => {
    mostValues = Math.max(mostValues, await mostValuesOf(sql, name))
    memory[1] = Math.max(memory[1], process.memoryUsage().rss)
    const before = performance.now()
    // Another range each time, because answers are cached.
    await collector.top('page', { from: began - HOUR_MS * (1 + (looks++ % 160)), to: Date.now() })
    topMs = Math.max(topMs, performance.now() - before)
  }
  const looking = (async () => {
    for (; !isOver; await delay(LOOK_EVERY_MS)) await look()
  })()
  looking.catch(() => undefined)
  try {
    const recorded = await record(options)
    const ended = Date.now()
    const behindMs = await eventually('the figures have all', async () => {
      const { asOf } = await collector.stats()
      return Date.parse(asOf) >= ended ? Date.now() - ended : undefined
    })
    const valuesAtEnd = await eventually('the values are folded', async () => {
      const most = await mostValuesOf(sql, name)
      return most <= 10_000 ? most : undefined
    })
    const { user, system } = process.cpuUsage(cpu)
    const processor = (user + system) / 1000 / (Date.now() - began)
    await assertFigures(sql, name, recorded)
    return { mostValues, valuesAtEnd, looks, behindMs, topMs, memory, processor }
  } finally {
    isOver = true
    await looking
  }
}

async function record(options: FloodOptions): Promise<Recorded> {
  const child = fork(PROGRAM, [JSON.stringify(options)], { execArgv: TYPESCRIPT })
  let recorded: Recorded | undefined
  child.on('message', (said) => {
    recorded = said as Recorded
  })
  await once(child, 'exit')
  assert.equal(child.exitCode, 0)
  return recorded!
}

async function mostValuesOf(sql: Database, name: string): Promise<number> {
  const { rows } = await sql.query(
    'SELECT COUNT(*) AS n FROM activity_hour_values WHERE name = ? GROUP BY dimension, hour ' +
      'ORDER BY n DESC LIMIT 1',
    [name],
  )
  return Number(rows[0]?.['n'] ?? 0)
}

/** Checks that each view has its row, second, hour and value, and that real pages are listed. */
async function assertFigures(sql: Database, name: string, recorded: Recorded): Promise<void> {
  const { rows: seconds } = await sql.query(
    'SELECT MIN(second) AS first_second, MAX(second) AS last_second FROM activity_seconds ' +
      'WHERE name = ?',
    [name],
  )
  const from = 1000 * Number(seconds[0]!['first_second'])
  const to = 1000 * (Number(seconds[0]!['last_second']) + 1)
  const { rows, views, unequal } = await recountRows(sql, name, from, to)
  assert.deepEqual([rows, views, unequal], [recorded.all, recorded.all, 0])
  const { rows: hours } = await sql.query(
    'SELECT h.hour, h.views, (SELECT SUM(views) FROM activity_hour_values AS v WHERE ' +
      "v.name = h.name AND v.dimension = 'page' AND v.hour = h.hour) AS listed " +
      'FROM activity_hours AS h WHERE h.name = ?',
    [name],
  )
  for (const { views, listed } of hours) assert.equal(Number(listed), Number(views))
  assert.equal(
    hours.reduce((sum, { views }) => sum + Number(views), 0),
    recorded.all,
  )
  const { rows: values } = await sql.query(
    'SELECT value, SUM(views) AS views FROM activity_hour_values WHERE name = ? GROUP BY value',
    [name],
  )
  const viewsOf = new Map(values.map((row) => [String(row['value']), Number(row['views'])]))
  const listed = Object.keys(recorded.normal).map((page) => [page, viewsOf.get(page)])
  assert.deepEqual(Object.fromEntries(listed), recorded.normal)
  // Folded while it had as few views as the pages of the flood, and listed since: from which moment
  // on depends on when a commit came.
  const popular = viewsOf.get('/popular') ?? 0
  assert(
    popular > recorded.popular / 10 && popular <= recorded.popular,
    `${popular} views of ${recorded.popular}`,
  )
}

/** For how long the transactions of a process hold the books, in milliseconds. */
class Holds {
  readonly folds: number[] = []
  readonly commits: number[] = []

  /** `database`, each of whose transactions is watched until it has been committed. */
  watching(database: Database): Database {
    return wrapped(database, {
      transaction: async (work) => {
        let since: number | undefined
        let folds = false
        const result = await database.transaction((tx) =>
          work(
            wrapped(tx, {
              async query(sql, values) {
                const answer = await tx.query(sql, values)
                if (/^(INSERT INTO |UPDATE )activity_books/.test(sql)) since ??= performance.now()
                if (sql.startsWith('DELETE FROM activity_hour_values')) folds = true
                return answer
              },
            }),
          ),
        )
        if (since !== undefined) (folds ? this.folds : this.commits).push(performance.now() - since)
        return result
      },
    })
  }
}
