/** What is wrong, whether views are lost, and what to do: one sentence each, below the bar. */
import { link } from './choice.js'
import { byId, html, renew } from './dom.js'
import { counted, number } from './format.js'

/** Rows that will not come by themselves. */
const MISSING = ['quarantined', 'dropped', 'owed', 'lost']

/**
 * @param {string | null} trouble a sentence
 * @param {Readonly<Record<string, number>> | null | undefined} ledger `undefined`: not everybody
 *   may see it
 */
export function showAlarm(trouble, ledger) {
  const link = document.getElementById('operation')
  const refused = ledger?.['quarantined'] ?? 0
  const problems = (trouble ? 1 : 0) + (refused > 0 ? 1 : 0)
  const alarm = byId('alarm')
  alarm.hidden = problems === 0
  if (problems > 0) renew(alarm, [trouble, lossText(ledger), refused], () => [of(trouble, ledger)])
  if (!link || link.dataset['view'] === 'operation') return
  link.classList.toggle('wrong', problems > 0)
  link.textContent = problems > 0 ? `Operation: ${counted(problems, 'problem')}` : 'Operation'
}

/**
 * @param {string | null} trouble
 * @param {Readonly<Record<string, number>> | null | undefined} ledger
 */
function of(trouble, ledger) {
  const refused = ledger?.['quarantined'] ?? 0
  const children = trouble
    ? [html('strong', { id: 'trouble' }, trouble), ` ${lossText(ledger)} `]
    : []
  if (refused > 0) {
    children.push(
      html('strong', `The database refused ${counted(refused, 'row')}, which are kept.`),
      ' To see why, and to try again: ',
      html('code', 'npx wide-cache quarantine list'),
      ', ',
      html('code', 'npx wide-cache quarantine retry all'),
      '. ',
    )
  }
  if (document.getElementById('operation')) {
    children.push(link({}, { view: 'operation' }, 'See the operation'))
  }
  return html('p.wrap', ...children)
}

/** @param {Readonly<Record<string, number>> | null | undefined} ledger */
function lossText(ledger) {
  if (!ledger) return ''
  const missing = MISSING.reduce((sum, key) => sum + (ledger[key] ?? 0), 0)
  if (missing > 0) return `Missing, of all time: ${counted(missing, 'row')}.`
  const onTheWay = ledger['outstanding'] ?? 0
  return `Nothing is lost${onTheWay > 0 ? `: ${number(onTheWay)} are on their way` : ''}.`
}
