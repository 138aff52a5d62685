/** What stands beside page views, and is never added to them: what browsers report, and bots. */
import { counted } from './format.js'

/** @typedef {{ pageViews: number, seen?: number, served?: number }} Views */

/** Why browsers may report more than the server sent. */
export const WHY_MORE =
  'Over 100 %: browsers report more views than the server sent pages. A cache in front answers ' +
  'some, or the site changes its page without loading one (a single-page site).'

/**
 * The share of views that browsers report, in percent; `undefined`: it is not known.
 *
 * @param {Views} views
 */
export function shareSeen({ pageViews, seen, served }) {
  const [ofBrowsers, ofServer] = served === undefined ? [seen, pageViews] : [pageViews, served]
  if (ofBrowsers === undefined || ofServer === 0) return undefined
  return Math.round((100 * ofBrowsers) / ofServer)
}

/**
 * `seen by browsers: 43 %`; empty where that is not known.
 *
 * @param {Views} views
 */
export function seenText(views) {
  const share = shareSeen(views)
  return share === undefined ? '' : `seen by browsers: ${share} %`
}

/**
 * Some sentences about the views beside those of some periods. Only periods in which both are known
 * have a share.
 *
 * @param {readonly Omit<import('./history.js').Sums, 'start' | 'visitors'>[]} periods
 */
export function besideText(periods) {
  /**
   * @param {'pageViews' | 'bots' | 'seen' | 'served'} field
   * @param {typeof periods} of
   */
  const sum = (field, of) => of.reduce((all, period) => all + (period[field] ?? 0), 0)
  /** @param {'seen' | 'served'} field */
  const known = (field) => {
    const of = periods.filter((one) => typeof one[field] === 'number')
    return of.length > 0 && { pageViews: sum('pageViews', of), [field]: sum(field, of) }
  }
  const views = known('seen') || known('served') || { pageViews: 0 }
  const share = seenText(views)
  // Not everybody may see them.
  if (periods.every(({ bots }) => bots === undefined)) return ''
  const bots = `Beside them, ${counted(sum('bots', periods), 'page')} went to bots.`
  const why = (shareSeen(views) ?? 0) > 100 ? `${WHY_MORE} ` : ''
  return share === '' ? bots : `${share[0]?.toUpperCase()}${share.slice(1)}. ${why}${bots}`
}
