/**
 * The certificate of a day: its figures, what the ledger had to say when it closed, and whether
 * they agree. One statement has all figures, so that a commit that is under way is no finding.
 */
import type { Queryable, SqlRow, Transaction } from '../database/database.js'
import { table } from '../database/table.js'
import { DAY_MS } from '../support/clock.js'
import { counted } from '../support/printable.js'
import { LEDGER_SUMS, outstandingIn } from '../wide-cache/ledger/sums.js'
import { ALL_VIEWS, whyUnbalanced } from './balance.js'
import { HOURS_A_DAY } from './books.js'
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

/** The certificate of a UTC day. */
export interface ActivityCertificate {
  /** The day, as in `2026-05-17`. */
  readonly day: string
  /** The figures of a closed day never change; those of another are as of now. */
  readonly closed: boolean
  /** Page views of the day. */
  readonly pageViews: number
  /** Different visitors of the day. */
  readonly visitors: number
  /** Page views that came after their own day was closed, and count in this one. */
  readonly late: number
  /**
   * Page views of all hours there are, when the day was closed, or now. `null`: as for `ledger`.
   */
  readonly allPageViews: number | null
  /**
   * Sums of the ledger when the day was closed, or now. `null` for a closed day without page views:
   * it has no closing of its own.
   */
  readonly ledger: CertifiedLedger | null
  /** Part of visits that SQL keeps now. With `sums`, there are no rows to recount. */
  readonly keep: 'rows' | 'sums'
  /**
   * Recounts of layers of the day that found as many rows as their sums say. `null`: no layer has
   * been recounted, or no rows are kept.
   */
  readonly layers: number | null
  /** There are no findings. */
  readonly balanced: boolean
  /** The differences found, one sentence each. */
  readonly findings: readonly string[]
}

const LEDGER_COLUMNS = ['issued', 'committed', 'quarantined', 'dropped', 'owed', 'lost'] as const
const OF_LEDGER = LEDGER_COLUMNS.map((column) => `l.${column}`).join(', ')

/** Columns that a closing writes. */
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
  const hours = [name, day * HOURS_A_DAY, (day + 1) * HOURS_A_DAY]
  const ofHours = 'FROM activity_hours WHERE name = ? AND hour >= ? AND hour < ?'
  const { rows } = await queryable.query(
    'SELECT b.open_day, COALESCE(b.uncounted, l.committed) AS uncounted, ' +
      `(${ALL_VIEWS}) AS all_views, ${OF_LEDGER}, ` +
      `${CLOSING_COLUMNS.map((column) => `c.${column} AS closed_${column}`).join(', ')}, ` +
      'c.layers_equal, c.layers_unequal, c.unequal_second, ' +
      'd.views AS day_views, d.late AS day_late, d.visitors AS day_visitors, ' +
      `(SELECT COALESCE(SUM(views), 0) ${ofHours}) AS hour_views, ` +
      `(SELECT COALESCE(SUM(late), 0) ${ofHours}) AS hour_late, ` +
      '(SELECT COUNT(*) FROM activity_visitors AS v WHERE v.name = b.name AND v.day = ? AND ' +
      'v.day >= b.open_day) AS seen ' +
      `FROM (${LEDGER_SUMS}) AS l ` +
      'LEFT JOIN activity_books AS b ON b.name = ? ' +
      'LEFT JOIN activity_days AS d ON d.name = ? AND d.day = ? ' +
      'LEFT JOIN activity_certificates AS c ON c.name = ? AND c.day = ?',
    [name, ...hours, ...hours, day, now, now, name, name, name, day, name, day],
  )
  return certificateOf(day, rows[0]!, await keptOf(queryable, name))
}

function certificateOf(day: number, row: SqlRow, keep: Keep): ActivityCertificate {
  const number = (column: string): number => Number(row[column] ?? 0)
  const closed = day < number('open_day')
  const from = closed ? 'closed_' : ''
  const certified = !closed || row['closed_all_views'] !== null
  const balance = {
    allPageViews: number(`${from}all_views`),
    uncounted: number(`${from}uncounted`),
    committed: number(`${from}committed`),
  }
  const findings: string[] = []
  const why = certified ? whyUnbalanced(balance) : undefined
  if (why) findings.push(why)
  const [hourViews, hourLate] = [number('hour_views'), number('hour_late')]
  const pageViews = closed ? number('day_views') : hourViews
  const late = closed ? number('day_late') : hourLate
  if (pageViews !== hourViews || late !== hourLate) {
    findings.push(
      `the day has ${counted(pageViews, 'page view')}, ${late} of them late, and its hours have ` +
        `${hourViews}, ${hourLate} of them late`,
    )
  }
  const [equal, unequal] = [number('layers_equal'), number('layers_unequal')]
  if (unequal > 0) {
    const last = new Date(number('unequal_second') * 1000).toISOString()
    findings.push(
      `${unequal} of ${equal + unequal} recounts found other rows in activities than ` +
        `activity_seconds says, the last one in the layer that began at ${last}`,
    )
  }
  return {
    day: new Date(day * DAY_MS).toISOString().slice(0, 10),
    closed,
    pageViews,
    visitors: number(closed ? 'day_visitors' : 'seen'),
    late,
    allPageViews: certified ? balance.allPageViews : null,
    ledger: certified ? ledgerOf(row, from) : null,
    keep,
    layers: equal + unequal > 0 ? equal : null,
    balanced: findings.length === 0,
    findings,
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
 * Certifies a day within the transaction that closes it. That holds the books, so no commit comes
 * in between.
 */
export async function certify(
  tx: Transaction,
  name: string,
  day: number,
  now: number,
): Promise<ActivityCertificate> {
  const { rows } = await tx.query(
    `SELECT b.uncounted, (${ALL_VIEWS}) AS all_views, ${OF_LEDGER} FROM (${LEDGER_SUMS}) AS l ` +
      'JOIN activity_books AS b ON b.name = ?',
    [name, now, now, name, name],
  )
  const figures = CLOSING_COLUMNS.map((column) => rows[0]?.[column] ?? null)
  await CLOSED.upsert(tx, [[name, day, ...figures]])
  return readCertificate(tx, name, day, now)
}

/** The certificate as one line of the log. */
export function certificateLine(name: string, certificate: ActivityCertificate): string {
  const { day, pageViews, visitors, late, ledger, findings } = certificate
  const rows = ledger
    ? Object.entries(ledger)
        .map(([field, n]) => `${field} ${n}`)
        .join(', ')
    : 'none'
  return (
    `wide-cache: ${day} of "${name}" is closed: ${counted(pageViews, 'page view')}, ` +
    `${counted(visitors, 'visitor')}, ${late} late; ledger: ${rows}; ` +
    `${recountsLine(certificate)}; ` +
    (findings.length === 0 ? 'the books balance' : `it does not balance: ${findings.join('; ')}`)
  )
}

/** Results of recounts. */
export function recountsLine({ keep, layers }: ActivityCertificate): string {
  if (layers !== null) return `${counted(layers, 'layer')} recounted and equal`
  return keep === 'sums' ? 'nothing to recount, only sums are kept' : 'no layer recounted'
}
