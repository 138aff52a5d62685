import type { Queryable } from '../database/database.js'
import { execute } from '../database/sql.js'
import { missingSince } from '../wide-cache/ledger/sums.js'
import type { ReadContext } from '../wide-cache/contexts.js'
import { sliceOf } from './sums.js'

/** Figures of the window: the `windowSeconds` whole seconds up to that of `asOf`. */
export interface ActivityStats {
  /** Length of the window, in seconds. */
  readonly windowSeconds: number
  /** Page views. */
  readonly pageViews: number
  /**
   * Visitors of the window who are certain, as far as they may be told apart. Not among them are
   * those of whom SQL only knows that they came before the window began, and after it ended.
   */
  readonly visitors: number
  /** Most visitors that the window may have had. Missing where `visitors` is exact. */
  readonly visitorsUpper?: number
  /** The moment up to which all has been collected, in ISO 8601. */
  readonly asOf: string
  /**
   * `asOf` is longer ago than it should be: no collector comes, a row is missing for long, or the
   * database's clock has been ahead.
   */
  readonly stale: boolean
  /** Page views of the window that are certain: those in SQL, the same number as `pageViews`. */
  readonly lower: number
  /**
   * `lower`, and all rows that the ledger knows to be missing from processes seen since the window
   * began: on their way, in quarantine, dropped or lost. Equal to `lower` on a healthy site. When a
   * process drops or loses rows, all that it ever has are in `upper`, for the length of the window.
   * It cannot include what SQL does not know. Such are visits that a living process holds while
   * neither cache nor SQL takes them. Visits of a killed process are such too, if their frame never
   * left it, or if the cache lost its last frames.
   */
  readonly upper: number
}

/**
 * Reads the figures from the sums: one row a second, one a visitor, one a writer that has been seen
 * since the window began, however many visits there were. One statement, so that all figures are of
 * one moment.
 */
export async function readStats(
  database: Queryable,
  { name, asOf, stale }: Pick<ReadContext, 'name' | 'asOf' | 'stale'>,
  windowSeconds: number,
): Promise<ActivityStats> {
  const end = Math.floor(asOf / 1000)
  const from = end - windowSeconds
  const slice = sliceOf(from)
  const last = sliceOf(end)
  // Only the slices in which the window begins and ends are looked through for seconds.
  const { rows } = await execute(database)`
    SELECT (SELECT COALESCE(SUM(views), 0) FROM activity_seconds
    WHERE name = ${name} AND second >= ${from} AND second < ${end}) AS page_views,
    (SELECT COUNT(*) FROM activity_visitors WHERE name = ${name} AND last_slice > ${slice}
    AND last_slice < ${last}) + (SELECT COUNT(*) FROM activity_visitors WHERE name = ${name}
    AND last_slice = ${slice} AND last_slice < ${last} AND last_second >= ${from})
    + ended.visitors AS visitors,
    ended.unsure, (${missingSince(from * 1000, name)}) AS missing
    FROM (SELECT COUNT(CASE WHEN last_second < ${end} OR first_second >= ${from} THEN 1 END)
    AS visitors, COUNT(CASE WHEN last_second >= ${end} AND first_second < ${from} THEN 1 END)
    AS unsure FROM activity_visitors WHERE name = ${name} AND last_slice >= ${last}
    AND last_second >= ${from} AND first_second < ${end}) AS ended`
  // A sum over 2^53-1 comes as a bigint.
  const pageViews = Number(rows[0]?.['page_views'])
  const [visitors, unsure, missing] = ['visitors', 'unsure', 'missing'].map((column) =>
    Number(rows[0]?.[column]),
  ) as [number, number, number]
  const isExact = unsure === 0 && missing === 0
  return {
    windowSeconds,
    pageViews,
    visitors,
    ...(!isExact && { visitorsUpper: visitors + unsure + missing }),
    asOf: new Date(asOf).toISOString(),
    stale,
    lower: pageViews,
    upper: pageViews + missing,
  }
}
