/** Holds what was found against what was recorded, by name and number. */
import { type Account, account, accountByCounts, ofReports, type WriterLife } from './account.js'
import type { Disturbances } from './disturbances.js'
import type { Found } from './found.js'
import { type Book, BOOKS } from './uses.js'

export interface Check {
  readonly name: string
  readonly expected: string
  readonly found: number
  readonly ok: boolean
}

/** Rows that a database had when it was copied: of another site, and known to its ledgers. */
export interface CopiedRows {
  readonly recorded: number
  readonly activity: number
  readonly seen: number
  /** When the database was copied, in milliseconds since the Unix epoch. */
  readonly at: number
}

/** Values that an hour of a dimension may list. */
const MOST_VALUES = 20_000

/** All checks of one site. */
export function checksOf(
  site: string,
  lives: readonly WriterLife[],
  found: Found,
  disturbances: Disturbances,
  copied?: CopiedRows,
): Check[] {
  const accounts: Record<Book, Account> = {
    recorded: account(lives, found.recorded, true, disturbances),
    activity: account(lives, found.activity, false, disturbances),
    hits: accountByCounts(lives, found.hits),
    seen: account(lives.map(ofReports), found.seen, false, disturbances),
  }
  const own = new Set(lives.map(({ name }) => name))
  const foreign = (of: Iterable<[life: string, rows: number]>): number =>
    [...of].reduce((sum, [life, rows]) => sum + (own.has(life) ? 0 : rows), 0)
  const rows = {
    recorded: found.recorded.rows,
    activity: found.activity.rows,
    hits: [...found.hits.values()].reduce((sum, hits) => sum + hits, 0),
    seen: found.seen.rows,
  }
  return [
    exactly(
      'recorded: rows of another site',
      copied?.recorded ?? 0,
      foreign(found.recorded.lives()),
    ),
    exactly(
      'activity: rows of another site',
      copied?.activity ?? 0,
      foreign(found.activity.lives()),
    ),
    exactly('seen: rows of another site', copied?.seen ?? 0, foreign(found.seen.lives())),
    ...(copied ? [] : [exactly('hits: rows of another site', 0, foreign(found.hits))]),
    exactly('recorded: rows that are there again', 0, found.recorded.again),
    exactly('activity: rows that are there again', 0, found.activity.again),
    exactly('seen: rows that are there again', 0, found.seen.again),
    exactly('recorded: rows that SQL was to refuse', 0, found.recorded.refused),
    ...BOOKS.flatMap((book) => [
      ...rowChecks(book, accounts[book]),
      ...(copied ? [] : ledgerChecks(book, accounts[book], found, rows[book])),
    ]),
    exactly('activity: stats().pageViews', found.recount.pageViews, found.stats.pageViews),
    exactly('activity: stats().visitors', found.recount.visitors, found.stats.visitors),
    between('activity: values of an hour', 0, MOST_VALUES, found.mostValues),
    exactly('activity: views of a page that was viewed once', 1, found.mostViews),
    exactly('activity: certificate().findings', 0, found.findings.length),
    exactly('seen: certificate().findings', 0, found.seenFindings.length),
    exactly('activity: days closed before their end', 0, Number(found.openDay > Date.now())),
  ].map((check) => ({ ...check, name: `${site} ${check.name}` }))
}

function rowChecks(book: Book, { unexplained, inexcusable, gaps }: Account): Check[] {
  const where = gaps.map((gap) => `: ${gap}`).join('')
  return [
    exactly(`${book}: rows of closed writers missing without a reason`, 0, unexplained),
    exactly(`${book}: rows of killed writers missing without an excuse${where}`, 0, inexcusable),
  ]
}

/** A ledger, field by field. Killed writers make ranges of what would be numbers. */
function ledgerChecks(
  book: Book,
  sums: Account,
  { ledgers, unsettled }: Pick<Found, 'ledgers' | 'unsettled'>,
  rows: number,
): Check[] {
  const ledger = ledgers[book]
  const { recorded, refused, afterClose, othersRecorded, othersCame } = sums
  const mayBeLost = othersRecorded - othersCame
  const { issued, committed, quarantined, dropped, outstanding, owed, lost } = ledger
  const mayBeRefused = book === 'recorded' ? mayBeLost : 0
  return [
    exactly('ledger().committed', rows, committed),
    between('ledger().quarantined', refused, refused + mayBeRefused, quarantined),
    between('ledger().dropped', afterClose, afterClose + mayBeLost, dropped),
    between('ledger().owed and lost', 0, mayBeLost, owed + lost),
    exactly(`ledger().outstanding${outstanding > 0 ? told(unsettled) : ''}`, 0, outstanding),
    between('ledger().issued', recorded + othersCame, recorded + othersRecorded, issued),
    exactly(
      'ledger() adds up to issued',
      issued,
      committed + quarantined + dropped + outstanding + owed + lost,
    ),
  ].map((check) => ({ ...check, name: `${book}: ${check.name}` }))
}

function told(unsettled: Found['unsettled']): string {
  return [...unsettled].map(([name, writers]) => `; ${name}: ${writers.join(', ')}`).join('')
}

export function exactly(name: string, expected: number, found: number): Check {
  return { name, expected: String(expected), found, ok: found === expected }
}

function between(name: string, from: number, to: number, found: number): Check {
  return {
    name,
    expected: from === to ? String(from) : `${from} to ${to}`,
    found,
    ok: found >= from && found <= to,
  }
}
