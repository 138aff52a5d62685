/** How far the collector is behind, and what became of all rows. */
import { byId, html } from './dom.js'
import { about, number } from './format.js'
import { Panel } from './panel.js'

/** @type {readonly [string, string, string][]} */
const PARTS = [
  ['committed', 'Committed', 'in the database'],
  ['outstanding', 'Outstanding', 'on their way'],
  ['quarantined', 'Quarantined', 'refused by the database, and kept'],
  ['dropped', 'Dropped', 'refused by their process'],
  ['owed', 'Owed', 'missing of processes that have vanished'],
  ['lost', 'Lost', 'cannot come any more'],
]

export function ledgerPanel() {
  const lag = html('p', { class: 'lag' })
  const lagPart = html('div')
  const lagPanel = new Panel(lagPart)
  const rows = html('tbody')
  const verdict = html('p', { class: 'sub' })
  const caption = html('caption', { class: 'hidden' }, 'What became of all rows')
  const books = html('table', { class: 'plain books' }, caption, rows)
  const retry = html(
    'p',
    { hidden: true },
    'To see why the database refused them, and to try again: ',
    html('code', {}, 'npx wide-cache quarantine list'),
    ', ',
    html('code', {}, 'npx wide-cache quarantine retry all'),
  )
  let shown = ''
  const booksPart = html('div')
  const booksPanel = new Panel(booksPart)
  byId('ledger').querySelector('.body')?.replaceChildren(lagPart, booksPart)

  /** @param {import('./now.js').Answer} answer */
  return function update({ time, trouble, overview, ledger }) {
    if (overview) showLag(time, overview, trouble === null)
    else lagPanel.missing()
    if (ledger) showBooks(ledger)
    else booksPanel.missing()
  }

  /**
   * @param {string} time
   * @param {{ asOf: string, stale: boolean }} overview
   * @param {boolean} isWell
   */
  function showLag(time, overview, isWell) {
    const behind = Math.max(0, Date.parse(time) - Date.parse(overview.asOf)) / 1000
    lag.replaceChildren(
      html('strong', {}, about(behind)),
      isWell ? ' behind: the collector keeps up' : ' behind',
    )
    lagPanel.show([lag], overview)
  }

  /** @param {Record<string, number> & { asOf: any }} answer */
  function showBooks({ asOf, ...ledger }) {
    retry.hidden = !ledger['quarantined']
    booksPanel.show([books, verdict, retry], { asOf })
    // What is read or selected there stays, as long as nothing changes.
    const key = JSON.stringify(ledger)
    if (key === shown) return
    shown = key
    const sum = PARTS.reduce((sum, [key]) => sum + (ledger[key] ?? 0), 0)
    const issued = ledger['issued'] ?? 0
    rows.replaceChildren(
      line('', 'Issued', 'rows that were recorded', issued, 'sum'),
      ...PARTS.map(([key, name, meaning], at) =>
        line(
          at === 0 ? '=' : '+',
          name,
          meaning,
          ledger[key] ?? 0,
          ['quarantined', 'dropped', 'owed', 'lost'].includes(key) && ledger[key] ? 'bad' : '',
        ),
      ),
    )
    const difference = issued - sum
    verdict.classList.toggle('bad', difference !== 0)
    verdict.textContent =
      (difference === 0
        ? 'The ledger balances. '
        : `The ledger does not balance: it differs by ${number(difference)}. `) +
      `${number(ledger['duplicate'] ?? 0)} came twice and were counted once.`
  }
}

/**
 * @param {string} sign
 * @param {string} name
 * @param {string} meaning
 * @param {number} count
 * @param {string} style
 */
function line(sign, name, meaning, count, style) {
  return html(
    'tr',
    { class: style || undefined },
    html('td', { class: 'sign' }, sign),
    html('th', { scope: 'row' }, name, ' ', html('span', { class: 'sub' }, meaning)),
    html('td', {}, number(count)),
  )
}
