/**
 * Comparison of a job's visits with what came to SQL, row by row: all pages are different, so no
 * loss hides behind a duplicate.
 */
import { asked, rowOf } from '../harness/sql.js'
import { sum } from '../harness/statistics.js'

export type Outcome = Readonly<Record<'recorded' | 'lost' | 'duplicated', number>>

/**
 * Returns the outcome of the job `id`, whose pages are `/id/process/number` in `table`. @throws
 * Error if there is a visit that nobody recorded
 */
export async function outcomeOf(
  url: string,
  table: string,
  id: string,
  recorded: number,
): Promise<Outcome> {
  const { visits, different } = await asked(url, (sql) =>
    rowOf<'visits' | 'different'>(
      sql,
      'SELECT COUNT(*) AS visits, COUNT(DISTINCT page) AS different ' +
        `FROM ${table} WHERE page LIKE ?`,
      [`/${id}/%`],
    ),
  )
  if (different > recorded) {
    throw new Error(`${id} has ${different} visits, of ${recorded} that were recorded`)
  }
  return { recorded, lost: recorded - different, duplicated: visits - different }
}

/** Returns the outcome of several jobs together. */
export function total(outcomes: readonly Outcome[]): Outcome {
  const all = (of: keyof Outcome): number => sum(outcomes.map((one) => one[of]))
  return { recorded: all('recorded'), lost: all('lost'), duplicated: all('duplicated') }
}
