/** Sums of an activity for the laws of orders, committed as the ledger does. */
import assert from 'node:assert/strict'
import type { SqlValue } from '../../src/database/database.js'
import { table } from '../../src/database/table.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import { closeDays } from '../../src/activity/day-closing.js'
import { commitVisits } from '../../src/activity/commit.js'
import type { ActivityCertificate } from '../../src/activity/certificate.js'
import type { Visit } from '../../src/activity/visit.js'
import type { Orders, Ports } from '../simulated-world/explorer.js'
import { EPOCH } from '../simulated-world/world.js'

export const NAME = 'site'

/**
 * Bounds of their laws. A transaction keeps the others out from its first write on, so that what
 * one preemption does not show, two show only to readers.
 */
export const BOUNDS = { tables: 'wide-cache activity', preemptions: 1 }

/** A day of the past, counted from 1970, and its start. */
export const DAY = Math.floor(EPOCH / DAY_MS) - 3
export const START = DAY * DAY_MS

const WRITERS = table(
  'wide_cache_writers',
  ['name', 'writer'],
  ['issued', 'add'],
  ['committed', 'add'],
  ['last_seen', 'greatest'],
)

/** Time from a day's end until it may be closed. */
const VANISHED_SECONDS = 3_600

/** A moment at which {@link DAY} may be closed, and the next day may not. */
export const CLOSING = START + DAY_MS + 2 * HOUR_MS

/** A visit of another visitor for each `n`. */
export function visit(time: number, n = 0, page = '/'): Visit {
  const visitor = Buffer.alloc(12)
  visitor.writeUInt32BE(n, 0)
  return { time, visitor, page }
}

/** Commits visits and enters them in the ledger, in one transaction. */
export async function commit(
  { database }: Pick<Ports, 'database'>,
  visits: readonly Visit[],
  now = CLOSING,
  name = NAME,
): Promise<void> {
  await database.transaction(async (tx) => {
    await commitVisits([...visits], tx, { now, name })
    const { length } = visits
    await WRITERS.upsert(tx, [[name, Buffer.alloc(16), length, length, now]])
  })
}

/** Closes the days that may be closed at `now`. Returns their certificates. */
export async function close(
  { database }: Pick<Ports, 'database'>,
  now = CLOSING,
): Promise<ActivityCertificate[]> {
  const certificates: ActivityCertificate[] = []
  await closeDays(database, NAME, now, VANISHED_SECONDS, (one) => certificates.push(one))
  return certificates
}

/** A number that a statement selects. */
export function numberIn(orders: Orders, sql: string, values: readonly SqlValue[] = []): number {
  return Number(Object.values(orders.look(sql, values)[0] ?? {})[0] ?? 0)
}

/** What must hold at any time, each as a statement that finds nothing. */
const BOOKS: readonly (readonly [law: string, sql: string])[] = [
  [
    'rows are the views of their seconds',
    'SELECT second, views - sums_only AS views, rows_found FROM ' +
      '(SELECT second, views, sums_only, ' +
      '(SELECT COUNT(*) FROM activities WHERE created_at / 1000 = second) AS rows_found ' +
      'FROM activity_seconds) WHERE views - sums_only <> rows_found',
  ],
  [
    'rows have a second',
    'SELECT created_at FROM activities ' +
      'WHERE created_at / 1000 NOT IN (SELECT second FROM activity_seconds)',
  ],
  [
    'hours are what the ledger has committed, and what the books have numbered',
    'SELECT * FROM (SELECT (SELECT COALESCE(SUM(views), 0) FROM activity_hours) AS hours, ' +
      '(SELECT COALESCE(SUM(committed), 0) FROM wide_cache_writers) AS committed, ' +
      '(SELECT COALESCE(SUM(views), 0) FROM activity_books) AS numbered) ' +
      'WHERE hours <> committed OR hours <> numbered',
  ],
  [
    'a closed day is the sum of its hours',
    'SELECT * FROM (SELECT day, views, (SELECT SUM(views) FROM activity_hours ' +
      'WHERE hour / 24 = day) AS hours FROM activity_days) WHERE views <> hours',
  ],
  [
    'a closed day with views has been entered',
    'SELECT hour FROM activity_hours WHERE hour / 24 < (SELECT open_day FROM activity_books) ' +
      'AND hour / 24 NOT IN (SELECT day FROM activity_days)',
  ],
  [
    'a closed day has its visitors',
    'SELECT * FROM (SELECT day, visitors, (SELECT COUNT(*) FROM activity_visitors AS v ' +
      'WHERE v.day = d.day) AS seen FROM activity_days AS d) WHERE visitors <> seen',
  ],
  [
    'the pages of an hour are its views',
    'SELECT * FROM (SELECT hour, views, (SELECT SUM(views) FROM activity_hour_values AS v ' +
      "WHERE v.hour = h.hour AND dimension = 'page') AS pages FROM activity_hours AS h) " +
      'WHERE views <> pages',
  ],
  [
    'the pages of a closed day are its views',
    'SELECT * FROM (SELECT day, views, (SELECT SUM(views) FROM activity_day_values AS v ' +
      "WHERE v.day = d.day AND dimension = 'page') AS pages FROM activity_days AS d) " +
      'WHERE views <> COALESCE(pages, -1)',
  ],
]

/** Checks that all sums say the same, and that `views` have been committed. */
export function assertBooks(orders: Orders, views: number, except: readonly string[] = []): void {
  for (const [law, sql] of BOOKS) {
    if (!except.includes(law)) assert.deepEqual(orders.look(sql), [], law)
  }
  assert.equal(numberIn(orders, 'SELECT SUM(views) FROM activity_hours'), views, 'views')
}
