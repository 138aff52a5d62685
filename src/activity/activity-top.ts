import type { Queryable } from '../database/database.js'
import { measureName, otherMeasure } from '../page-views/measures.js'
import type { PeriodRange } from '../support/calendar.js'
import type { ValueViews } from '../dashboard/site-figures.js'
import { type AskedValues, readTop, readValues } from './history.js'
import type { Site } from './activity-history.js'
import { OTHER } from './sums.js'

/** The values of a dimension with the most views, each with its views of the other measure. */
export async function readActivityTop(
  queryable: Queryable,
  { name, count }: Site,
  dimension: string,
  range: PeriodRange,
  asked: AskedValues,
): Promise<ValueViews[]> {
  const top = await readTop(queryable, measureName(name, count), dimension, range, asked)
  const other = otherMeasure(count)
  const values = [OTHER, ...top.flatMap(({ value }) => (value === null ? [] : value))]
  // One more, so that any value says how many views have one.
  const found = await readValues(queryable, measureName(name, other), dimension, range, {
    n: values.length + 1,
    first: values,
  })
  if (found.length === 0) return top
  const views = new Map(found.map(({ value, pageViews }) => [value, pageViews]))
  const none = views.has(OTHER) ? undefined : 0
  return top.map((one) => {
    const ofOther = views.get(one.value) ?? (one.value === null ? 0 : none)
    return ofOther === undefined ? one : { ...one, [other]: ofOther }
  })
}
