/** The final state of a site's database and its ledgers. */
import type { ActivityStats, Database, LedgerReport } from '../../src/index.js'
import { readCertificate } from '../../src/activity/certificate.js'
import { readCalendar } from '../../src/activity/days.js'
import { dayText } from '../../src/support/calendar-days.js'
import { Tally } from './tally.js'
import {
  type Book,
  gridNameOf,
  ledgersOf,
  seenNameOf,
  type Uses,
  type UsesOptions,
} from './uses.js'

/** Views and visitors. */
export interface Figures {
  readonly pageViews: number
  readonly visitors: number
}

export interface Found {
  /** The rows of the site's own table, and those of `activities`: served, and seen. */
  readonly recorded: Tally
  readonly activity: Tally
  readonly seen: Tally
  /** Hits of each life. */
  readonly hits: ReadonlyMap<string, number>
  readonly ledgers: Readonly<Record<Book, LedgerReport>>
  /** By the names of grids: writers with rows on their way, and when SQL last heard of them. */
  readonly unsettled: ReadonlyMap<string, readonly string[]>
  /** Figures of `stats()`, and of `activities`. */
  readonly stats: Figures
  readonly recount: Figures
  /** Most values that an hour of a dimension lists, `(other)` among them. */
  readonly mostValues: number
  /** Most views that a page has: each page is viewed once. */
  readonly mostViews: number
  /** Begin of the oldest open day, in milliseconds since the Unix epoch. */
  readonly openDay: number
  /** Disagreements that today's certificates list, of served views and of seen ones. */
  readonly findings: readonly string[]
  readonly seenFindings: readonly string[]
}

/** A day of any zone begins with one. */
const QUARTER_MS = 15 * 60_000
const ROWS_AT_ONCE = 20_000
/** Time in which figures come to the present, and between two looks at them. */
const FRESH_MS = 120_000
const LOOK_MS = 500

/** Reads it all. @throws Error, DatabaseError when something cannot be read */
export async function findOut(
  database: Database,
  uses: Uses,
  names: Pick<UsesOptions, 'site' | 'apart'>,
): Promise<Found> {
  const [recorded, activity, seen] = [new Tally(), new Tally(), new Tally()]
  for await (const { life, number } of all(database, 'recorded', 'id', 'life, number')) {
    recorded.add(String(life), Number(number))
  }
  // One name has them: numbers are its own.
  const name = gridNameOf('activity', names)
  const seenName = seenNameOf(names)
  for (const [tally, ofName] of [[activity, name] as const, [seen, seenName] as const]) {
    for await (const { page } of all(database, 'activities', 'number', 'page', ofName)) {
      const [, life = '', number = ''] = String(page).split('/')
      tally.add(life, Number(number))
    }
  }
  const days = await readCalendar(database, name)
  const today = days.dayOf(Date.now())
  const hits = new Map<string, number>()
  const { rows } = await database.query('SELECT item, hits FROM hits_counts WHERE name = ?', [
    gridNameOf('hits', names),
  ])
  for (const row of rows) hits.set(String(row['item']), Number(row['hits']))
  const {
    rows: [values],
  } = await database.query(
    'SELECT MAX(n) AS n, MAX(views) AS views FROM (SELECT COUNT(*) AS n, ' +
      'MAX(CASE WHEN value = ? THEN 0 ELSE views END) AS views FROM activity_hour_values ' +
      'WHERE name = ? GROUP BY dimension, hour) AS hours',
    [Buffer.alloc(0), name],
  )
  const stats = await freshStats(uses)
  // Those recorded while the clock was ahead are of a time to come.
  const end = Math.floor(Date.parse(stats.asOf) / 1000) * 1000
  const recount = (
    await database.query(
      'SELECT SUM(CASE WHEN created_at < ? THEN 1 ELSE 0 END) AS views, ' +
        '(SELECT open_day FROM activity_books WHERE name = ?) AS open_day ' +
        'FROM activities WHERE name = ?',
      [end, name, name],
    )
  ).rows[0]
  // Of all times: they were seen, and are others on each day.
  const { rows: seenAt } = await database.query(
    'SELECT DISTINCT visitor, created_at - created_at % ? AS at FROM activities ' +
      'WHERE name = ? AND visitor IS NOT NULL',
    [QUARTER_MS, name],
  )
  const visitors = new Set(
    seenAt.map(
      ({ visitor, at }) => `${(visitor as Buffer).toString('hex')} ${days.dayOf(Number(at))}`,
    ),
  )
  return {
    recorded,
    activity,
    seen,
    hits,
    ledgers: await ledgersOf(database, uses, names),
    unsettled: await unsettledIn(database),
    stats,
    mostValues: Number(values?.['n']),
    mostViews: Number(values?.['views']),
    openDay: days.startOfDay(Number(recount?.['open_day'])),
    recount: { pageViews: Number(recount?.['views']), visitors: visitors.size },
    findings: (await uses.activity.certificate(dayText(today))).findings,
    seenFindings: (await readCertificate(database, seenName, today, await database.now())).findings,
  }
}

async function unsettledIn(database: Database): Promise<Map<string, string[]>> {
  const { rows } = await database.query(
    'SELECT name, writer, issued - committed - quarantined - lost AS missing, last_seen ' +
      'FROM wide_cache_writers WHERE issued > committed + quarantined + lost',
  )
  const now = await database.now()
  const found = new Map<string, string[]>()
  for (const { name, writer, missing, last_seen } of rows) {
    const id = Buffer.isBuffer(writer) ? writer.toString('hex', 0, 4) : ''
    const age = ((now - Number(last_seen)) / 1000).toFixed(1)
    const line = `${id} has ${String(missing)}, last seen ${age} s ago`
    found.set(String(name), [...(found.get(String(name)) ?? []), line])
  }
  return found
}

/**
 * The figures of a moment after this call. A private cache that was killed holds them up, until its
 * writer would have committed by itself.
 */
async function freshStats({ activity }: Uses): Promise<ActivityStats> {
  const since = Date.now()
  for (;;) {
    const stats = await activity.stats()
    if (Date.parse(stats.asOf) > since || Date.now() - since > FRESH_MS) return stats
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

/** All rows of a table, or of a name in it, in the order of a key, a bounded number at a time. */
async function* all(
  database: Database,
  table: string,
  key: string,
  columns: string,
  name?: string,
): AsyncGenerator<Record<string, unknown>> {
  for (let last: unknown = -1; ;) {
    const { rows } = await database.query(
      `SELECT ${key}, ${columns} FROM ${table} WHERE ${key} > ?` +
        `${name === undefined ? '' : ' AND name = ?'} ORDER BY ${key} LIMIT ${ROWS_AT_ONCE}`,
      name === undefined ? [Number(last)] : [Number(last), name],
    )
    yield* rows
    if (rows.length < ROWS_AT_ONCE) return
    last = rows.at(-1)![key]
  }
}
