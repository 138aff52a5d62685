/** The operation of the site: what is asked for only while somebody looks at it. */
import { html } from './dom.js'
import { about, counted, number, span, utcDay } from './format.js'
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
 * @typedef {object} Collector
 * @property {boolean} isShared
 * @property {number | null} periodSeconds
 * @property {number} layersWaiting
 * @property {{ secondsAgo: number, rows: number, ms: number } | null} lastRun
 */

/**
 * @typedef {object} Answer
 * @property {string} time
 * @property {any} live
 * @property {Certificate[] | null} certificates
 * @property {Collector[] | null} collectors
 * @property {string[]} reasons
 */

export { ledgerPanel } from './ledger.js'

export function operationPanel() {
  const grid = gridPanel()
  const panel = new Panel('health')
  const health = html('ul', { class: 'findings' })
  const strip = html('ol', { class: 'strip' })
  const findings = html('ul', { class: 'findings' })
  const collecting = html('ul', { class: 'findings' })
  const ofCollectors = html('h3', {}, 'Collectors')
  const ofDays = html('h3', {}, 'Certificates of 30 days')
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
    const { time, live, certificates, collectors, reasons } = answer
    grid({ time, live })
    if (!certificates || !collectors) return panel.missing()
    showCollectors(collectors)
    // What is read there stays, as long as nothing changes.
    const key = JSON.stringify([certificates, reasons])
    if (key !== shown) draw(certificates, reasons)
    shown = key
    const parts = [health, ofCollectors, collecting, ofDays, strip, findings]
    panel.show(parts, { asOf: time })
  }

  /** @param {readonly Collector[]} collectors */
  function showCollectors(collectors) {
    const texts = collectors.length > 0 ? collectors.map(collectorText) : ['No process counts yet.']
    while (collecting.childElementCount > texts.length) collecting.lastElementChild?.remove()
    texts.forEach((text, at) => {
      const line = collecting.children[at] ?? collecting.appendChild(html('li'))
      if (line.textContent !== text) line.textContent = text
    })
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

/** @param {Collector} collector */
function collectorText({ isShared, periodSeconds, layersWaiting, lastRun }) {
  const of = isShared ? 'Shared cache' : 'Memory of one process'
  const waiting = `${counted(layersWaiting, 'layer')} ${layersWaiting === 1 ? 'waits' : 'wait'}.`
  if (!lastRun) return `${of}: no collector has come yet. ${waiting}`
  const { secondsAgo, rows, ms } = lastRun
  const period = periodSeconds === null ? '' : ` They come every ${span(periodSeconds)}.`
  return (
    `${of}: a collector came ${about(secondsAgo)} ago, and took ${counted(rows, 'row')} to the ` +
    `database in ${number(ms)} ms.${period} ${waiting}`
  )
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
