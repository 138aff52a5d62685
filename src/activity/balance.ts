/**
 * The law that the books keep: the views of all hours, and the rows that the ledger had before the
 * first visit, are the rows that the ledger has committed. All of them are written by the same
 * transactions, so one statement finds them equal at any time.
 */
import { type Database, DatabaseError, type Queryable } from '../database/database.js'
import { execute } from '../database/sql.js'
import type { BurstLogger } from '../support/logger.js'
import { counted } from '../support/printable.js'
import { committedSum } from '../wide-cache/ledger/sums.js'

/** The sides of the law, at one moment. */
export interface Balance {
  /** Page views of all hours. */
  readonly allPageViews: number
  /** Rows that the ledger had committed before the first visit. */
  readonly uncounted: number
  /** Rows that the ledger has committed. */
  readonly committed: number
}

/** Rows that the ledger has beyond those of the hours; 0 if the books balance. */
export function differenceOf({ allPageViews, uncounted, committed }: Balance): number {
  return committed - allPageViews - uncounted
}

/** Returns the reason why the books do not balance; `undefined` if they do. */
export function whyUnbalanced(balance: Balance): string | undefined {
  if (differenceOf(balance) === 0) return undefined
  const { allPageViews, uncounted, committed } = balance
  const before = uncounted > 0 ? ` and had ${uncounted} before the first visit` : ''
  return (
    `the hours have ${counted(allPageViews, 'page view')}, and the ledger has committed ` +
    `${counted(committed, 'row')}${before}`
  )
}

/**
 * Compares both sides, and keeps the difference in `activity_books`. Logs once when the books stop
 * balancing, and once when they balance again, however many collectors look.
 */
export async function watchBalance(
  database: Database,
  name: string,
  logger: BurstLogger,
): Promise<void> {
  const found = await readBalance(database, name)
  if (!found) return
  const { balance, known } = found
  const difference = differenceOf(balance)
  if (difference === known || !(await keepDifference(database, name, known, difference))) return
  const why = whyUnbalanced(balance)
  if (why) {
    logger.error(
      `wide-cache: the books of "${name}" do not balance: ${why}; find out what ` +
        'else has changed the tables, or report a bug; "wide-cache certificate" shows which days ' +
        'differ',
    )
  } else {
    logger.info(`wide-cache: the books of "${name}" balance again`)
  }
}

async function readBalance(
  queryable: Queryable,
  name: string,
): Promise<{ balance: Balance; known: number } | undefined> {
  const [row] = (
    await execute(queryable)`SELECT uncounted, difference,
    (SELECT COALESCE(SUM(views), 0) FROM activity_hours WHERE name = ${name}) AS all_views,
    (${committedSum(name)}) AS committed FROM activity_books WHERE name = ${name}`
  ).rows
  if (!row) return undefined
  const [allPageViews, uncounted] = [Number(row['all_views']), Number(row['uncounted'])]
  const balance = { allPageViews, uncounted, committed: Number(row['committed']) }
  return { balance, known: Number(row['difference']) }
}

/** `false`: another collector has been quicker, or a commit holds the books. */
async function keepDifference(
  database: Database,
  name: string,
  known: number,
  difference: number,
): Promise<boolean> {
  try {
    const { affectedRows } = await execute(database)`UPDATE activity_books
      SET difference = ${difference} WHERE name = ${name} AND difference = ${known}`
    return affectedRows > 0
  } catch (error) {
    if (error instanceof DatabaseError && error.category === 'lock') return false
    throw error
  }
}
