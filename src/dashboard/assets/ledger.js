/** What became of all rows: one line of a ledger that balances. */
import { html, renew } from './dom.js'
import { number } from './format.js'

/** @type {readonly [string, string, string][]} */
const PARTS = [
  ['committed', 'Committed', 'in the database'],
  ['outstanding', 'Outstanding', 'on their way'],
  ['quarantined', 'Quarantined', 'refused by the database, and kept'],
  ['dropped', 'Dropped', 'refused by their process'],
  ['owed', 'Owed', 'missing, of processes that vanished'],
  ['lost', 'Lost', 'cannot come any more'],
]
const BAD = ['quarantined', 'dropped', 'owed', 'lost']

export function ledgerPanel() {
  const rows = html('tbody')
  const verdict = html('p.quiet.small')
  const caption = html('caption.hidden', 'What became of all page views')
  const element = html(
    'section.card',
    { id: 'ledger', 'aria-label': 'What became of all page views' },
    html('h2', 'What became of all page views'),
    html('table.ledger', caption, rows),
    verdict,
  )

  /** @param {Readonly<Record<string, number>> | null} ledger */
  function update(ledger) {
    element.classList.toggle('missing', ledger === null)
    if (!ledger) return
    const { asOf: _, ...counts } = ledger
    const issued = counts['issued'] ?? 0
    renew(rows, counts, () => [
      line('Issued', 'recorded by a process', issued, false),
      ...PARTS.map(([key, name, meaning], at) => {
        const count = counts[key] ?? 0
        return line(
          `${at === 0 ? '=' : '+'} ${name}`,
          meaning,
          count,
          BAD.includes(key) && count > 0,
        )
      }),
    ])
    const sum = PARTS.reduce((sum, [key]) => sum + (counts[key] ?? 0), 0)
    const difference = issued - sum
    verdict.classList.toggle('down', difference !== 0)
    const duplicates = counts['duplicate'] ?? 0
    const text =
      (difference === 0
        ? 'It balances. '
        : `It does not balance: it differs by ${number(difference)}. `) +
      `${number(duplicates)} came twice, and were counted once.`
    if (verdict.textContent !== text) verdict.textContent = text
  }

  return { element, update }
}

/** @param {string} name @param {string} meaning @param {number} count @param {boolean} isBad */
function line(name, meaning, count, isBad) {
  return html(
    'tr',
    { class: isBad ? 'down' : undefined },
    html('th', { scope: 'row' }, name, ' ', html('span.quiet.small', meaning)),
    html('td', number(count)),
  )
}
