/** How far the collector is behind, and what became of all rows. */
import { html } from './dom.js'
import { about, number, timeOfDay } from './format.js'
import { Panel } from './panel.js'

/** A collector drains layers that are some seconds old, every few seconds. */
const SLOW_SECONDS = 60

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
  const panel = new Panel('ledger')
  const lag = html('p', { class: 'lag' })
  const lagPart = html('div')
  const lagPanel = new Panel(lagPart)
  const rows = html('tbody')
  const verdict = html('p', { class: 'sub' })
  const caption = html('caption', { class: 'hidden' }, 'What became of all rows')
  const books = html('table', { class: 'plain books' }, caption, rows)
  let shown = ''
  const booksPart = html('div')
  const booksPanel = new Panel(booksPart)

  /** @param {{ time: string, live: any, ledger: any }} figures */
  return function update(figures) {
    panel.show([lagPart, booksPart])
    if (figures.live) showLag(Date.parse(figures.time), Date.parse(figures.live.asOf))
    else lagPanel.missing()
    if (figures.ledger) showBooks(figures.ledger)
    else booksPanel.missing()
  }

  /**
   * @param {number} now
   * @param {number} watermark
   */
  function showLag(now, watermark) {
    const seconds = Math.max(0, (now - watermark) / 1000)
    const isSlow = seconds > SLOW_SECONDS
    lag.classList.toggle('bad', isSlow)
    lag.replaceChildren(
      html('strong', {}, about(seconds)),
      ' ',
      isSlow ? 'behind: the collector is slow' : 'behind: the collector keeps up',
    )
    lag.title = `Watermark ${timeOfDay(watermark)}`
    lagPanel.show([lag])
  }

  /** @param {Record<string, number>} ledger */
  function showBooks(ledger) {
    booksPanel.show([books, verdict])
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
