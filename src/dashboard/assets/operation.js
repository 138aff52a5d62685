/** The operation of the site, on a page of its own: its scripts are loaded when it is opened. */
import { html, renew } from './dom.js'
import { at, counted, number, setZone, short } from './format.js'
import { gridPanel } from './grid.js'
import { ledgerPanel } from './ledger.js'
import { json } from './poll.js'

/**
 * @typedef {object} Certificate
 * @property {string} day
 * @property {string | null} firstDay
 * @property {boolean} closed
 * @property {number} pageViews
 * @property {boolean | null} balanced
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

/** @param {string} zone the time zone of the site */
export function operationView(zone) {
  setZone(zone)
  const [grid, ledger] = [gridPanel(), ledgerPanel()]
  const heading = html('h1', { tabindex: -1 }, 'Operation')
  const verdict = html('p.card.verdict', { id: 'verdict' })
  const servers = html('ul.lines')
  const collecting = html('ul.lines')
  const strip = html('ol.strip')
  const findings = html('ul.quiet')
  const health = html('div', { id: 'health' })
  health.append(
    section('Servers', servers),
    section('Collectors', collecting),
    section('Days that balance', strip, findings),
  )
  const element = html(
    'div',
    html('div.title', heading),
    verdict,
    html('div.two', health, html('div', ledger.element, grid.element)),
  )

  /** @param {any} now */
  function showNow({ trouble, overview, live, ledger: counts }) {
    ledger.update(counts)
    const lines = verdictOf({ trouble, overview, live, ledger: counts })
    renew(verdict, lines, () => [
      html('span', { class: lines.isBad ? 'dot bad' : 'dot' }),
      html('span', lines.text),
    ])
  }

  async function load() {
    /** @type {Answer} */
    let answer
    try {
      answer = await json('operation.json')
    } catch (error) {
      grid.update(null)
      health.classList.add('missing')
      throw error
    }
    const { live, certificates, collectors, reasons } = answer
    grid.update(live)
    health.classList.toggle('missing', !certificates || !collectors)
    const states =
      reasons.length > 0 ? reasons : ['this process reaches the cache and the database']
    renew(servers, states, () => states.map((text) => line(sentence(text), '', reasons.length > 0)))
    if (collectors) {
      const all = collectors.map(collectorLine)
      renew(collecting, all, () =>
        all.length > 0
          ? all.map(([name, text, isBad]) => line(name, text, isBad))
          : [line('No process counts yet', '', false)],
      )
    }
    if (certificates) renew(strip, certificates, () => drawDays(certificates))
  }

  /** @param {readonly Certificate[]} certificates */
  function drawDays(certificates) {
    const wrong = certificates.flatMap((one) =>
      one.findings.map((finding) => html('li.down', `${dayOf(one)}: ${sentence(finding)}`)),
    )
    const days = certificates.filter((one) => !isBefore(one))
    const good = days.filter(({ balanced }) => balanced).length
    const sum =
      `${number(good)} of ${counted(days.length, 'day')}: what was recorded is what is in the ` +
      'database.'
    findings.replaceChildren(html('li', sum), ...wrong)
    return certificates.map(square)
  }

  return { element, showNow, load, heading }
}

/** @param {string} title @param {HTMLElement[]} children */
function section(title, ...children) {
  return html('section.card', { 'aria-label': title }, html('h2', title), ...children)
}

/** @param {string} name @param {string} text @param {boolean} isBad */
function line(name, text, isBad) {
  return html(
    'li',
    html('span', { class: isBad ? 'dot bad' : 'dot' }),
    html('span', name),
    ' ',
    html('span.quiet.push', text),
  )
}

/** @param {any} answer @returns {{ text: string, isBad: boolean }} */
function verdictOf({ trouble, overview, live, ledger }) {
  if (!overview || !ledger) {
    return { text: 'It is not known at the moment whether all views are counted.', isBad: true }
  }
  const today = overview.figures.today.views
  // The ledger does not know the last frames yet, which may be in the cells.
  const onTheWay = Math.max(ledger.outstanding ?? 0, live?.pageViews ?? 0)
  const missing = ['quarantined', 'dropped', 'lost', 'owed'].reduce(
    (sum, key) => sum + (ledger[key] ?? 0),
    0,
  )
  const begin =
    missing > 0
      ? `Missing, of all time: ${counted(missing, 'row')}.`
      : trouble
        ? 'Nothing is lost.'
        : 'Everything works.'
  const rest = onTheWay === 0 ? '' : `, ${number(onTheWay)} are on their way`
  const are = today === 1 ? 'is' : 'are'
  return {
    text: `${begin} ${counted(today, 'page view')} of today ${are} in the database${rest}.`,
    isBad: missing > 0 || Boolean(trouble),
  }
}

/** @param {Collector} collector @returns {[string, string, boolean]} */
function collectorLine({ isShared, periodSeconds, layersWaiting, lastRun }) {
  const of = isShared ? 'Shared cache' : 'Private cache'
  const waiting = `${counted(layersWaiting, 'layer')} ${layersWaiting === 1 ? 'waits' : 'wait'}`
  if (!lastRun) return [of, `no collector has come yet; ${waiting}`, true]
  const { secondsAgo, rows, ms } = lastRun
  const period = periodSeconds === null ? '' : `every ${short(periodSeconds)}, `
  const last = `${period}last ${short(secondsAgo)} ago: ${counted(rows, 'row')} in ${number(ms)} ms`
  return [of, `${last}; ${waiting}`, false]
}

/** @param {string} text */
function sentence(text) {
  return `${text[0]?.toUpperCase()}${text.slice(1)}`
}

/** @param {Certificate} certificate */
const dayOf = ({ day }) => at('longDay', Date.parse(`${day}T12:00Z`))

/** @param {Certificate} certificate */
const isBefore = ({ day, firstDay }) => firstDay === null || day < firstDay

/** @param {Certificate} certificate */
function square(certificate) {
  const { closed, balanced } = certificate
  const [style, words] = isBefore(certificate)
    ? ['none', 'no page views yet']
    : !balanced
      ? ['differs', 'differs']
      : closed
        ? ['balanced', 'closed, and balances']
        : ['growing', 'balances so far']
  const text = `${dayOf(certificate)}: ${words}`
  return html('li', { class: style, 'data-tip': text }, html('span.hidden', text))
}
