/** The activities of a database, for commands that know no options of the sites. */
import { recordedDimensions } from '../activity/dimension-values.js'
import type { Database } from '../database/database.js'
import { execute } from '../database/sql.js'
import type { Logger } from '../support/logger.js'
import { UsageError } from './arguments.js'
import { withTables } from './existing.js'

/** Runs `work` with a database that has the tables of activities. */
export function withActivities(
  url: string | undefined,
  logger: Logger,
  work: (database: Database) => Promise<void>,
): Promise<void> {
  return withTables(url, logger, ['wide-cache', 'activity'], work)
}

/**
 * The name of an activity that has visits; `activity` where none is asked for. @throws UsageError
 */
export async function activityNamed(database: Database, name = 'activity'): Promise<string> {
  const { rows } = await execute(database)`SELECT name FROM activity_books ORDER BY name`
  const names = rows.map((row) => String(row['name']))
  if (names.includes(name)) return name
  const there = names.length === 0 ? 'there are none in this database' : names.join(', ')
  throw new UsageError(`--name: no visits are recorded under it; names with visits: ${there}`)
}

/** A dimension that has values. @throws UsageError */
export async function dimensionNamed(
  database: Database,
  name: string,
  flag: string,
  dimension: string,
): Promise<string> {
  const dimensions = await recordedDimensions(database, name)
  if (dimensions.includes(dimension)) return dimension
  throw new UsageError(
    `--${flag}: this dimension has no values; dimensions with values: ${dimensions.join(', ')}`,
  )
}
