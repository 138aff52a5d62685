/**
 * Comparison of each job's visits with what came to SQL, row by row: all pages are different, so no
 * loss hides behind a duplicate.
 */
import { asked, rowOf } from '../harness/sql.js'
import { sum } from '../harness/statistics.js'

export type Outcome = Readonly<Record<'recorded' | 'lost' | 'duplicated', number>>

/**
 * Returns the outcomes of the rows in `table`, whose pages are `/job/process/number`. @throws Error
 * if there is a visit that nobody recorded
 */
export async function outcomes(
  url: string,
  table: string,
  recorded: ReadonlyMap<string, number>,
): Promise<Map<string, Outcome>> {
  return asked(url, async (sql) => {
    const found = new Map<string, Outcome>()
    for (const [id, count] of recorded) {
      const { visits, different } = await rowOf<'visits' | 'different'>(
        sql,
        'SELECT COUNT(*) AS visits, COUNT(DISTINCT page) AS different ' +
          `FROM ${table} WHERE page LIKE ?`,
        [`/${id}/%`],
      )
      if (different > count) {
        throw new Error(`${id} has ${different} visits, of ${count} that were recorded`)
      }
      const [lost, duplicated] = [count - different, visits - different]
      found.set(id, { recorded: count, lost, duplicated })
    }
    return found
  })
}

/** Returns the outcome of several jobs together. */
export function total(outcomes: readonly Outcome[]): Outcome {
  const all = (of: keyof Outcome): number => sum(outcomes.map((one) => one[of]))
  return { recorded: all('recorded'), lost: all('lost'), duplicated: all('duplicated') }
}
