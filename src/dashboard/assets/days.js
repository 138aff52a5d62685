/**
 * Days in the viewer's time zone, summed from hours. Views can be summed so; visitors cannot, since
 * one visitor may come in several hours. In a zone that is not whole hours from UTC, an hour counts
 * for the day in which it starts.
 */

/** @typedef {{ readonly start: string, readonly pageViews: number }} Hour */

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
 * @param {readonly Hour[]} hours
 * @param {readonly number[]} starts
 * @returns {number[]}
 */
export function viewsByDay(hours, starts) {
  const views = starts.map(() => 0)
  for (const { start, pageViews } of hours) {
    const time = Date.parse(start)
    const at = starts.findLastIndex((day) => day <= time)
    if (at !== -1) views[at] = (views[at] ?? 0) + pageViews
  }
  return views
}
