/** `wide-cache note`: writes or removes the note on a day of an activity. */
import { checkedNote, writeNote } from '../activity/notes.js'
import { measureOf } from '../page-views/measures.js'
import type { Logger } from '../support/logger.js'
import { activityNamed, withActivities } from './activities.js'
import { type OptionsOf, UsageError } from './arguments.js'

/** @throws TypeError, RangeError, UsageError for what is wrong; what the database throws */
export async function note(
  { database: url, name: given, day, text, remove }: OptionsOf<'note'>,
  logger: Logger,
): Promise<void> {
  if ((text === null) !== remove) throw new UsageError('note wants a text, or --remove')
  const [number, checked] = checkedNote(day, text)
  await withActivities(url, logger, async (database) => {
    const { name } = measureOf(await activityNamed(database, given))
    await writeNote(database, name, number, checked)
    logger.info(
      checked === null
        ? `wide-cache: removed the note on ${day} of "${name}"`
        : `wide-cache: noted on ${day} of "${name}"`,
    )
  })
}
