/** The share of page views that browsers report. */

/** @typedef {{ pageViews?: number | null, seen?: number | null, served?: number | null }} Views */

/** Why browsers may report more than the server sent. */
export const WHY_MORE =
  'Over 100 %: a cache in front answers some, or the site changes its page without loading one ' +
  '(a single-page site).'

/** What browsers reported, and what the server sent. @param {Views} views */
function pair({ pageViews, seen, served }) {
  return served === undefined ? [seen, pageViews] : [pageViews, served]
}

/**
 * The share of views that browsers report; `undefined`: it is not known.
 *
 * @param {Views} views
 */
export function shareSeen(views) {
  const [ofBrowsers, ofServer] = pair(views)
  if (typeof ofBrowsers !== 'number' || !ofServer) return undefined
  return ofBrowsers / ofServer
}

/** The same of several periods: of those in which both are known. @param {readonly Views[]} all */
export function shareOfAll(all) {
  let [ofBrowsers, ofServer] = [0, 0]
  for (const views of all) {
    const [reported, sent] = pair(views)
    if (typeof reported !== 'number' || typeof sent !== 'number') continue
    ofBrowsers += reported
    ofServer += sent
  }
  return ofServer === 0 ? undefined : ofBrowsers / ofServer
}
