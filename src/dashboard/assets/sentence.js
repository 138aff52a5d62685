/** What the operation of the site is folded under: one sentence that its owner understands. */
import { about, counted } from './format.js'

/**
 * Rows in the cells after the figures.
 *
 * @param {{ layers: readonly { pageViews: number }[] } | null} live
 */
function rowsIn(live) {
  return (live?.layers ?? []).reduce((sum, { pageViews }) => sum + pageViews, 0)
}

/** @param {HTMLElement} operation */
export function sentence(operation) {
  const summary = /** @type {HTMLElement} */ (operation.querySelector('summary > span'))

  /** @param {import('./now.js').Answer} answer */
  return function update({ time, overview, live, ledger }) {
    if (!overview || !ledger) {
      summary.textContent =
        'Operation: it is not known at the moment whether all views are counted.'
      return
    }
    const today = overview.figures.today.views
    // The ledger does not know the last frames yet, which may be in the cells.
    const onTheWay = Math.max(ledger.outstanding ?? 0, rowsIn(live))
    const counts = ['quarantined', 'dropped', 'lost', 'owed'].map((key) => ledger[key] ?? 0)
    const missing = counts.reduce((sum, count) => sum + count, 0)
    const checked = Math.max(0, Date.parse(time) - Date.parse(overview.asOf)) / 1_000
    const isWhole = live && missing + onTheWay === 0 && today > 1
    summary.textContent =
      `${isWhole ? 'All ' : ''}${counted(today, 'view')} of today ` +
      `${today === 1 ? 'is' : 'are'} in the database` +
      (onTheWay === 0 ? '. ' : `, and ${counted(onTheWay, 'more row')} on the way. `) +
      (missing === 0 ? '' : `Missing, of all time: ${counted(missing, 'row')}. `) +
      `Checked ${about(checked)} ago.`
  }
}
