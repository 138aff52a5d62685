/** The operation of the site: what is asked for only while somebody looks at it. */
import { html } from './dom.js'
import { utcDay } from './format.js'
import { gridPanel } from './grid.js'
import { Panel } from './panel.js'
import { json } from './poll.js'

/**
 * @typedef {object} Certificate
 * @property {string} day
 * @property {string | null} firstDay
 * @property {boolean} closed
 * @property {number} pageViews
 * @property {boolean} balanced
 * @property {readonly string[]} findings
 */

/**
 * @typedef {object} Answer
 * @property {string} time
 * @property {any} live
 * @property {Certificate[] | null} certificates
 * @property {string[]} reasons
 */

export { ledgerPanel } from './ledger.js'

export function operationPanel() {
  const grid = gridPanel()
  const panel = new Panel('health')
  const health = html('ul', { class: 'findings' })
  const strip = html('ol', { class: 'strip' })
  const findings = html('ul', { class: 'findings' })
  const heading = html('h3', {}, 'Certificates of 30 days')
  let shown = ''

  return async function load() {
    /** @type {Answer} */
    let answer
    try {
      answer = await json('operation.json')
    } catch (error) {
      panel.missing()
      grid({ time: '', live: null })
      throw error
    }
    const { time, live, certificates, reasons } = answer
    grid({ time, live })
    if (!certificates) return panel.missing()
    // What is read there stays, as long as nothing changes.
    const key = JSON.stringify([certificates, reasons])
    if (key !== shown) draw(certificates, reasons)
    shown = key
    panel.show([health, heading, strip, findings], { asOf: time })
  }

  /**
   * @param {readonly Certificate[]} certificates
   * @param {readonly string[]} reasons
   */
  function draw(certificates, reasons) {
    const well = 'This process reaches the cache and the database.'
    health.replaceChildren(...(reasons.length > 0 ? reasons : [well]).map(sentenceOf))
    strip.replaceChildren(...certificates.map(square))
    findings.replaceChildren(
      ...certificates.flatMap((one) =>
        one.findings.map((finding) => sentenceOf(`${dayOf(one)}: ${finding}`)),
      ),
    )
    if (findings.childElementCount === 0) findings.append(sentenceOf('No day differs.'))
  }
}

/** @param {string} text */
const sentenceOf = (text) => html('li', {}, `${text[0]?.toUpperCase()}${text.slice(1)}`)

/** @param {Certificate} certificate */
const dayOf = ({ day }) => utcDay(Date.parse(day))

/** @param {Certificate} certificate */
function square(certificate) {
  const { day, firstDay, closed, balanced } = certificate
  const isBefore = firstDay === null || day < firstDay
  const [style, words] = isBefore
    ? ['none', 'no page views yet']
    : !balanced
      ? ['differs', 'differs']
      : closed
        ? ['balanced', 'closed, and balances']
        : ['growing', 'balances so far']
  const text = `${dayOf(certificate)}: ${words}`
  return html('li', { class: style, title: text }, html('span', { class: 'hidden' }, text))
}
