/**
 * Comparison of each job's visits with what came to SQL, row by row: all pages are different, so no
 * loss hides behind a duplicate.
 */
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'
import { sum } from '../harness/statistics.js'

export interface Outcome {
  readonly recorded: number
  readonly lost: number
  readonly duplicated: number
}

/**
 * Returns the outcomes of the rows in `table`, whose pages are `/job/process/number`. @throws Error
 * if there is a visit that nobody recorded
 */
export async function outcomes(
  url: string,
  table: string,
  recorded: ReadonlyMap<string, number>,
): Promise<Map<string, Outcome>> {
  const database = await createConnection(url)
  try {
    return new Map(
      await Promise.all(
        [...recorded].map(
          async ([id, count]) => [id, await outcome(database, table, id, count)] as const,
        ),
      ),
    )
  } finally {
    await database.end()
  }
}

async function outcome(
  database: Connection,
  table: string,
  id: string,
  recorded: number,
): Promise<Outcome> {
  const sql =
    'SELECT COUNT(*) AS visits, COUNT(DISTINCT page) AS different ' +
    `FROM ${table} WHERE page LIKE ?`
  const [[row]] = await database.query<RowDataPacket[]>(sql, [`/${id}/%`])
  const [visits, different] = [Number(row!['visits']), Number(row!['different'])]
  if (different > recorded) {
    throw new Error(`${id} has ${different} visits, of ${recorded} that were recorded`)
  }
  return { recorded, lost: recorded - different, duplicated: visits - different }
}

/** Returns the outcome of several jobs together. */
export function total(outcomes: readonly Outcome[]): Outcome {
  const all = (of: 'recorded' | 'lost' | 'duplicated') => sum(outcomes.map((one) => one[of]))
  return { recorded: all('recorded'), lost: all('lost'), duplicated: all('duplicated') }
}
