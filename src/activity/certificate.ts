/**
 * The certificate of a day: its figures, the sums of the ledger when it closed, and whether they
 * agree, with each other and with those of the closing. One statement reads all figures that
 * change, so that a commit that is under way is no finding.
 */
import type { Queryable, SqlRow, Transaction } from '../database/database.js'
import { execute, joined, numberOrNull, raw, sql } from '../database/sql.js'
import { table } from '../database/table.js'
import type { Calendar } from '../support/calendar.js'
import { dayText } from '../support/calendar-days.js'
import { ledgerSums, outstandingIn } from '../wide-cache/ledger/sums.js'
import type { Balance } from './balance.js'
import { keepFigures, readHours, readValues } from './closed-day.js'
import { dayBalanceOf, sumsOfDay } from './day-balance.js'
import { readDays } from './days.js'
import { type ComparedDay, findingsOf } from './findings.js'
import { FIRST, firstDayIn } from './first-day.js'
import { type Keep, keptOf } from './keep.js'

/** Rows of the ledger, since the beginning, of all processes. */
export interface CertifiedLedger {
  /** Rows recorded. */
  readonly issued: number
  /** Rows in their tables. */
  readonly committed: number
  /** Rows that SQL refused. */
  readonly quarantined: number
  /** Rows refused by their process. */
  readonly dropped: number
  /** Rows on their way. */
  readonly outstanding: number
  /** Rows missing of processes that have vanished: they come if such a process comes back. */
  readonly owed: number
  /** Rows that cannot come any more. */
  readonly lost: number
  /** Rows committed before the first page view: of another kind, or before sums were removed. */
  readonly uncounted: number
}

/** The certificate of a day. */
export interface ActivityCertificate {
  /** The day, as in `2026-05-17`. */
  readonly day: string
  /** The oldest day with page views. Nothing is known of those before. `null`: there is none. */
  readonly firstDay: string | null
  /** The figures of a closed day never change; those of another are as of now. */
  readonly closed: boolean
  /** Page views of the day. */
  readonly pageViews: number
  /** Different visitors of the day. `null`: the day was imported without. */
  readonly visitors: number | null
  /** Page views that came after their own day was closed, and count in this one. */
  readonly late: number
  /** Page views of all days there are, when the day was closed, or now. `null`: as for `ledger`. */
  readonly allPageViews: number | null
  /**
   * Sums of the ledger when the day was closed, or now. `null` for a closed day without page views:
   * it has no closing of its own.
   */
  readonly ledger: CertifiedLedger | null
  /** Part of visits that SQL keeps now. With `sums`, there are no rows to recount. */
  readonly keep: 'rows' | 'sums'
  /**
   * Hours of the day whose rows have been recounted, and equal their sums. `null`: no hour has been
   * recounted, or no rows are kept.
   */
  readonly hours: number | null
  /** The day was imported, so nobody can say whether its figures are right. */
  readonly imported?: true
  /** There are no findings. `null`: the day was imported. */
  readonly balanced: boolean | null
  /** The differences found, one sentence each. */
  readonly findings: readonly string[]
}

const LEDGER_COLUMNS = ['issued', 'committed', 'quarantined', 'dropped', 'owed', 'lost'] as const

/** Columns that the closing of a day with page views writes. */
const CLOSING_COLUMNS = ['all_views', 'uncounted', ...LEDGER_COLUMNS] as const
const CLOSED = table(
  'activity_certificates',
  ['name', 'day'],
  ...CLOSING_COLUMNS.map((column) => [column, 'replace'] as const),
)

/**
 * The certificate of a day, counted from 1970.
 *
 * @param now the database's clock
 */
export async function readCertificate(
  queryable: Queryable,
  name: string,
  day: number,
  now: number,
): Promise<ActivityCertificate> {
  const { calendar, keep } = await readDays(queryable, name, [day])
  const row = await readDay(queryable, name, day, now, calendar)
  const values = isClosed(row, day) ? await readValues(queryable, name, day, calendar) : undefined
  return certificateOf(queryable, name, { day, calendar, row, values, keep })
}

function isClosed(row: SqlRow, day: number): boolean {
  return day < Number(row['open_day'] ?? 0) || row['kept_views'] !== null
}

/** What there is of a day. Without values, nothing is compared with its closing. */
type ReadDay = Pick<ComparedDay, 'day' | 'calendar' | 'row' | 'values'> & { readonly keep: Keep }

async function certificateOf(
  queryable: Queryable,
  name: string,
  { day, calendar, row, values, keep }: ReadDay,
): Promise<ActivityCertificate> {
  const closed = isClosed(row, day)
  const imported = typeof row['imported'] === 'string'
  const certified = !closed || row['closed_all_views'] !== null
  const balance = closed ? closedBalanceOf(row) : dayBalanceOf(row)
  const hours = await readHours(queryable, name, day, calendar)
  const recounted = hours.filter((hour) => hour['recounted'] !== null)
  const compared = { day, calendar, row, balance: certified ? balance : undefined, hours, values }
  const findings = imported ? [] : findingsOf(compared)
  return {
    day: dayText(day),
    firstDay: row['first_day'] === null ? null : dayText(Number(row['first_day'])),
    closed,
    pageViews: Number(row[closed ? 'day_views' : 'hour_views'] ?? 0),
    visitors: imported
      ? numberOrNull(row['day_visitors'])
      : Number(row[closed ? 'day_visitors' : 'seen'] ?? 0),
    late: Number(row[closed ? 'day_late' : 'hour_late'] ?? 0),
    allPageViews: certified ? balance.allPageViews : null,
    ledger: certified ? ledgerOf(row, closed ? 'closed_' : '') : null,
    keep,
    hours:
      recounted.length > 0 ? recounted.filter((hour) => hour['recounted'] === '').length : null,
    ...(imported && ({ imported } as const)),
    balanced: imported ? null : findings.length === 0,
    findings,
  }
}

/** All that is compared of a day, of one moment. */
async function readDay(
  queryable: Queryable,
  name: string,
  day: number,
  now: number,
  calendar: Calendar,
): Promise<SqlRow> {
  const ofLedger = LEDGER_COLUMNS.map((column) => `l.${column}`)
  const closed = CLOSING_COLUMNS.map((column) => `c.${column} AS closed_${column}`)
  const sums = Object.entries(sumsOfDay(name, day, calendar))
  const named = sums.map(([as, sum]) => sql`${sum} AS ${raw(as)}`)
  const { rows } = await execute(queryable)`SELECT b.open_day,
    COALESCE(b.uncounted, l.committed) AS uncounted, COALESCE(b.settled, l.committed) AS settled,
    ${raw([FIRST, ...ofLedger, ...closed].join(', '))},
    c.views AS kept_views, c.late AS kept_late, c.visitors AS kept_visitors,
    c.hours AS kept_hours, d.views AS day_views, d.late AS day_late, d.visitors AS day_visitors,
    d.imported,
    ${joined(named, ', ')}, (SELECT COUNT(*) FROM activity_visitors AS v
    WHERE v.name = b.name AND v.day = ${day} AND v.day >= b.open_day) AS seen
    FROM (${ledgerSums(name, now)}) AS l LEFT JOIN activity_books AS b ON b.name = ${name}
    LEFT JOIN activity_days AS d ON d.name = ${name} AND d.day = ${day}
    LEFT JOIN activity_certificates AS c ON c.name = ${name} AND c.day = ${day}`
  const row = rows[0]!
  return { ...row, first_day: firstDayIn(row, calendar) }
}

function closedBalanceOf(row: SqlRow): Balance {
  const number = (column: string): number => Number(row[`closed_${column}`] ?? 0)
  return {
    allPageViews: number('all_views'),
    uncounted: number('uncounted'),
    committed: number('committed'),
  }
}

function ledgerOf(row: SqlRow, from: string): CertifiedLedger {
  const number = (column: string): number => Number(row[`${from}${column}`])
  const [issued, committed] = [number('issued'), number('committed')]
  const [quarantined, dropped] = [number('quarantined'), number('dropped')]
  const [owed, lost] = [number('owed'), number('lost')]
  const outstanding = outstandingIn({ issued, committed, quarantined, dropped, owed, lost })
  const uncounted = number('uncounted')
  return { issued, committed, quarantined, dropped, outstanding, owed, lost, uncounted }
}

/**
 * Certifies a day with page views within the transaction that closes it, and settles its rows of
 * the ledger. That holds the books, so no commit comes in between.
 */
export async function certify(
  tx: Transaction,
  name: string,
  day: number,
  dimensions: readonly string[],
  calendar: Calendar,
): Promise<ActivityCertificate> {
  // Not the safe clock, by which the day closes: writers are seen by this one.
  const now = await tx.now()
  const row = await readDay(tx, name, day, now, calendar)
  const { others, allPageViews } = dayBalanceOf(row)
  const figures = CLOSING_COLUMNS.map((column) =>
    column === 'all_views' ? allPageViews : (row[column] ?? null),
  )
  await CLOSED.upsert(tx, [[name, day, ...figures]])
  await keepFigures(tx, name, day, dimensions, calendar)
  // A difference is a finding of this day, and of none that comes after it.
  await execute(tx)`UPDATE activity_books SET settled = ${Number(row['committed']) - others}
    WHERE name = ${name}`
  // Nothing has changed since then.
  const closed = await readDay(tx, name, day, now, calendar)
  return certificateOf(tx, name, {
    day,
    calendar,
    row: closed,
    values: undefined,
    keep: await keptOf(tx, name),
  })
}
