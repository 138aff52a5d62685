/**
 * Days in the viewer's time zone, summed from hours. Views can be summed so; visitors cannot, since
 * one visitor may come in several hours. In a zone that is not whole hours from UTC, an hour counts
 * for the day in which it starts.
 */

const HOUR_MS = 3_600_000

/**
 * When the last `count` days began, oldest first; the last one is today.
 *
 * @param {number} now
 * @param {number} count
 * @returns {number[]}
 */
export function dayStarts(now, count) {
  const today = new Date(now)
  return Array.from({ length: count }, (_, at) =>
    // By the calendar and not by 24 hours: some days have 23 or 25.
    new Date(today.getFullYear(), today.getMonth(), today.getDate() - (count - 1 - at)).getTime(),
  )
}

/**
 * The views of each day.
 *
 * @param {readonly number[]} hours the views of each hour
 * @param {number} from start of the first hour
 * @param {readonly number[]} starts
 * @returns {number[]}
 */
export function viewsByDay(hours, from, starts) {
  const views = starts.map(() => 0)
  hours.forEach((pageViews, hour) => {
    const at = starts.findLastIndex((day) => day <= from + hour * HOUR_MS)
    if (at !== -1) views[at] = (views[at] ?? 0) + pageViews
  })
  return views
}
