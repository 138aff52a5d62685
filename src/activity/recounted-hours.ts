/** Results of recounts of hours: collectors enter them, and certificates report them. */
import type { Queryable } from '../database/database.js'
import { hourName, HOURS_A_DAY } from './books.js'

/** Page views of an hour that is recounted, at most. */
export const MAX_RECOUNTED_VIEWS = 200_000

/** Results of a day. */
export interface RecountedHours {
  /** Hours found equal. `null`: none has been recounted. */
  readonly equal: number | null
  /** Hours with too many page views. */
  readonly large: number
  /** A sentence for each hour that differs. */
  readonly findings: readonly string[]
}

/**
 * Enters what the last recount of an hour has found to differ; empty: nothing.
 *
 * @returns `false`: that is what the one before has found, or the hour is gone
 */
export async function enterRecount(
  queryable: Queryable,
  name: string,
  hour: number,
  found: string,
): Promise<boolean> {
  const { affectedRows } = await queryable.query(
    'UPDATE activity_hours SET recounted = ? WHERE name = ? AND hour = ? AND ' +
      '(recounted IS NULL OR recounted <> ?)',
    [found, name, hour, found],
  )
  return affectedRows > 0
}

export async function readRecounts(
  queryable: Queryable,
  name: string,
  day: number,
): Promise<RecountedHours> {
  const { rows } = await queryable.query(
    'SELECT hour, views, recounted FROM activity_hours ' +
      'WHERE name = ? AND hour >= ? AND hour < ? ORDER BY hour',
    [name, day * HOURS_A_DAY, (day + 1) * HOURS_A_DAY],
  )
  const recounted = rows.filter(({ recounted }) => recounted !== null)
  const unequal = recounted.filter(({ recounted }) => recounted !== '')
  return {
    equal: recounted.length > 0 ? recounted.length - unequal.length : null,
    large: rows.filter(({ views }) => Number(views) > MAX_RECOUNTED_VIEWS).length,
    findings: unequal.map(
      ({ hour, recounted }) =>
        `a recount of its hour ${hourName(Number(hour) % HOURS_A_DAY)} found ${String(recounted)}`,
    ),
  }
}
