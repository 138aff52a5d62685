/** What the operation of the site is folded under: one sentence that its owner understands. */
import { about, counted } from './format.js'

/** @param {HTMLElement} operation */
export function sentence(operation) {
  const summary = /** @type {HTMLElement} */ (operation.querySelector('summary > span'))

  /** @param {import('./now.js').Answer} answer */
  return function update({ time, overview, ledger }) {
    if (!overview || !ledger) {
      summary.textContent =
        'Operation: it is not known at the moment whether all views are counted.'
      return
    }
    const today = overview.figures.today.views
    const { outstanding = 0 } = ledger
    const counts = ['quarantined', 'dropped', 'lost', 'owed'].map((key) => ledger[key] ?? 0)
    const missing = counts.reduce((sum, count) => sum + count, 0)
    const checked = Math.max(0, Date.parse(time) - Date.parse(overview.asOf)) / 1_000
    summary.textContent =
      `${missing + outstanding === 0 && today > 1 ? 'All ' : ''}${counted(today, 'view')} of ` +
      `today ${today === 1 ? 'is' : 'are'} in the database` +
      (outstanding === 0 ? '. ' : `, and ${counted(outstanding, 'more row')} on the way. `) +
      (missing === 0 ? '' : `Missing, of all time: ${counted(missing, 'row')}. `) +
      `Checked ${about(checked)} ago.`
  }
}
