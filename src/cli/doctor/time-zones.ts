/** Checks whether a process has been given other days than its name has. */
import type { Database } from '../../database/database.js'
import { execute } from '../../database/sql.js'
import { type Finding, findingsOf } from './finding.js'

export async function checkTimeZones(database: Database): Promise<Finding[]> {
  const { rows } = await execute(database)`SELECT n.name, n.given_zone, o.time_zone
    FROM wide_cache_names AS n JOIN wide_cache_names AS o ON o.name = n.grid_name
    WHERE n.given_zone <> '' AND o.time_zone <> '' AND n.given_zone <> o.time_zone ORDER BY n.name`
  const { warning } = findingsOf('time zones')
  return rows.map(({ name, given_zone: given, time_zone: zone }) =>
    warning(
      `the days of "${String(name)}" are those of ${String(zone)}, and a process was given the ` +
        `option "timeZone" as ${String(given)}`,
      'give all processes the same and restart them, or record under another name',
    ),
  )
}
