/** The ways to count visits in one process with SQLite alone. */
import type { RequestHandler } from 'express'
import { createActivity, memory, sqlite } from '../../src/index.js'
import { readStats } from '../../src/activity/stats.js'
import { removeOldVisits } from '../../src/activity/retention.js'
import { SILENT } from '../../src/support/logger.js'
import { fill, type Place, PLACE, startOf } from '../drain/backlog.js'
import { TABLES } from '../drain/tables.js'
import { NAME, visitAt } from '../drain/visits.js'
import { DIMENSIONS } from '../micro/requests.js'
import { tracker } from '../peers/express.js'
import { openSqliteVisits } from '../peers/sqlite-visits.js'
import { NOTHING_KEPT } from '../retention/removal.js'
import type { ContenderName } from './names.js'

export interface Contender {
  readonly middleware: RequestHandler
  /** Makes that many visits wait for `bring`; returns when the first of them was. */
  fill(count: number): Promise<number>
  /** Brings what waits to SQL. */
  bring(): Promise<void>
  /** Brings to SQL what the middleware has seen. */
  finish(): Promise<void>
  count(): Promise<number>
  /** Page views and visitors since a moment. */
  stats(from: number): Promise<readonly [views: number, visitors: number]>
  /** As the retention does when all is past its time; not given: there is none. */
  removeAll?(): Promise<void>
  /** Nothing has ever been counted. */
  empty(): Promise<void>
  close(): Promise<void>
}

/** A million visits wait in the cells. */
const MEMORY_BYTES = 512 * 1024 * 1024

export async function openContender(name: ContenderName, file: string): Promise<Contender> {
  if (name === 'sums') return openActivity(file, 'sums', false)
  if (name.startsWith('rows')) return openActivity(file, 'rows', name !== 'rows')
  const visits = openSqliteVisits(file)
  const buffer: VisitRow[] = []
  const nothing = (): void => {}
  if (name === 'nothing') return insertsOf(visits, nothing, nothing)
  return name === 'INSERT'
    ? insertsOf(visits, visits.insertOne, (rows) => rows.forEach(visits.insertOne))
    : insertsOf(
        visits,
        (visit) => void buffer.push(visit),
        (rows) => visits.insert(rows.length > 0 ? rows : buffer.splice(0)),
      )
}

async function openActivity(
  file: string,
  keep: 'rows' | 'sums',
  withDimensions: boolean,
): Promise<Contender> {
  const cache = memory({ maxBytes: MEMORY_BYTES })
  const database = sqlite(file)
  const activity = createActivity({
    cache,
    database,
    collect: false,
    logger: SILENT,
    keep,
    dimensions: withDimensions ? DIMENSIONS : {},
  })
  await activity.migrate()
  // Makes its grid. A collector that has drained its first layers would not do so again.
  await activity.stats()
  const { rows } = await database.query(PLACE)
  const place = rows[0] as unknown as Place
  return {
    middleware: activity.middleware(),
    async fill(count) {
      const from = startOf(count)
      const { watermark } = await fill(cache, place, from, count, withDimensions)
      // The collector was last here before the first of them.
      await database.query('UPDATE wide_cache_grids SET watermark = ?', [watermark])
      return from
    },
    async bring() {
      await activity.drain()
    },
    async finish() {
      await activity.flush()
      await activity.drain({ all: true })
    },
    count: async () => (await activity.ledger()).committed,
    async stats(from) {
      const asOf = Date.now()
      const context = { name: NAME, asOf, stale: false }
      const window = Math.floor(asOf / 1000) - Math.floor(from / 1000)
      const { pageViews, visitors } = await readStats(database, context, window)
      return [pageViews, visitors]
    },
    async removeAll() {
      for (let more = true; more;) {
        const now = await database.now()
        more = await removeOldVisits(database, { now, name: NAME }, NOTHING_KEPT)
      }
    },
    async empty() {
      for (const table of TABLES) await database.query(`DELETE FROM ${table}`)
    },
    async close() {
      await activity.close()
      await database.query('PRAGMA wal_checkpoint(TRUNCATE)')
      await database.close()
    },
  }
}

interface VisitRow {
  readonly time: number
  readonly visitor: string
  readonly page: string
}

function insertsOf(
  visits: ReturnType<typeof openSqliteVisits>,
  record: (visit: VisitRow) => void,
  bring: (visits: readonly VisitRow[]) => void,
): Contender {
  let waiting: VisitRow[] = []
  let middleware: RequestHandler | undefined
  tracker(async (visit: VisitRow) => record(visit)).use({
    use: (handler: RequestHandler) => void (middleware = handler),
  })
  return {
    middleware: middleware!,
    async fill(count) {
      const from = startOf(count)
      waiting = Array.from({ length: count }, (_, i) => {
        const { time, visitor, page } = visitAt(from, i)
        return { time, visitor: visitor.toString('hex'), page }
      })
      return from
    },
    async bring() {
      bring(waiting)
      waiting = []
    },
    finish: async () => bring([]),
    count: async () => Number(visits.count()),
    stats: async (from) => visits.stats(from) as [number, number],
    empty: async () => visits.empty(),
    close: async () => visits.close(),
  }
}
