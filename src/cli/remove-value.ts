/** `wide-cache remove-value`: takes one value of a dimension out of an activity. */
import { removeValue } from '../activity/remove-value.js'
import { OTHER, askedValue } from '../activity/sums.js'
import type { Logger } from '../support/logger.js'
import { counted } from '../support/printable.js'
import { activityNamed, dimensionNamed, withActivities } from './activities.js'
import { type OptionsOf, UsageError } from './arguments.js'

/** @throws UsageError for flags that are wrong; what the database throws */
export async function removeOneValue(
  { database: url, name: given, dimension, value }: OptionsOf<'remove-value'>,
  logger: Logger,
): Promise<void> {
  if (dimension === undefined) throw new UsageError('--dimension is missing')
  if (!value) throw new UsageError('--value is missing')
  if (value === OTHER) throw new UsageError(`--value: ${OTHER} is no value`)
  await withActivities(url, logger, async (database) => {
    const name = await activityNamed(database, given)
    const known = await dimensionNamed(database, name, 'dimension', dimension)
    const { hours, days, rows } = await removeValue(database, name, known, askedValue(known, value))
    logger.info(
      `wide-cache: removed from ${counted(hours, 'hour')}, ${counted(days, 'day')} and ` +
        `${counted(rows, 'visit')} of "${name}"`,
    )
  })
}
