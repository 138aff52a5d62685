/**
 * The last 24 hours and the last 30 days. Their page views are of the same reading as the figures
 * of now. To count visitors costs the database more, so those are asked for less often.
 */
import { barChart } from './bars.js'
import { besideText } from './beside.js'
import { dayStarts, viewsByDay } from './days.js'
import { byId, html } from './dom.js'
import {
  counted,
  day,
  hourOfWeek,
  minuteOfDay,
  shortDay,
  shortUtcDay,
  timeZone,
  utcDay,
} from './format.js'
import { Panel } from './panel.js'
import { json } from './poll.js'

/** @typedef {{ start: string, visitors: number, bots: number }} Period */
/**
 * @typedef {object} History
 * @property {string} asOf
 * @property {boolean} stale
 * @property {readonly (import('./beside.js').Views & Period)[]} figures
 */
/** @typedef {{ overview: import('./now.js').Overview | null }} Answer */

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const HOURS = 24
const DAYS = 30

/**
 * @param {string} href
 * @param {string} text
 */
export function download(href, text) {
  return html('a', { href, download: true, class: 'download' }, text)
}

/** @param {Record<string, string | number>} parameters */
export function query(parameters) {
  return new URLSearchParams(
    Object.entries(parameters).map(([name, value]) => [name, String(value)]),
  ).toString()
}

/**
 * The answer to a question, of which the panel says where there is none.
 *
 * @param {Panel} panel
 * @param {Record<string, string | number>} parameters
 * @returns {Promise<History>}
 */
async function history(panel, parameters) {
  try {
    return await json(`history.json?${query(parameters)}`)
  } catch (error) {
    panel.missing()
    throw error
  }
}

/** @param {() => number} now the server's time */
export function hoursPanel(now) {
  const sum = html('p', { class: 'sub' })
  const chart = barChart({
    title: 'Page views and visitors of the last 24 hours',
    unit: 'Hour',
    series: ['Page views', 'Visitors'],
  })
  const link = download('history.csv?by=hour', 'CSV, 30 days by hour')
  const beside = html('p', { class: 'sub', id: 'beside' })
  const visitorsPart = html('div')
  const content = [sum, chart.element, html('p', { class: 'links' }, link), visitorsPart]
  const panel = new Panel('hours', 'Page views')
  const visitorsPanel = new Panel(visitorsPart, 'Visitors')
  /** @type {ReadonlyMap<number, number>} */
  let visitors = new Map()
  /** @type {import('./now.js').Overview | null} */
  let shown = null

  function draw() {
    if (!shown) return
    const { from, hours } = shown.figures
    const newest = hours.slice(-HOURS)
    const first = Date.parse(from) + (hours.length - newest.length) * HOUR_MS
    chart.update(
      newest.map((pageViews, at) => {
        const time = first + at * HOUR_MS
        return {
          label: hourOfWeek(time),
          short: minuteOfDay(time),
          values: [pageViews, visitors.get(time)],
          open: at === newest.length - 1,
        }
      }),
    )
    sum.textContent = `${counted(total(newest), 'page view')}. The current hour still grows.`
  }

  /** @param {Answer} answer */
  function show({ overview }) {
    if (!overview) return panel.missing()
    shown = overview
    draw()
    panel.show(content, overview)
  }

  async function load() {
    const to = Math.floor(now() / HOUR_MS) * HOUR_MS + HOUR_MS
    const answer = await history(visitorsPanel, { by: 'hour', from: to - HOURS * HOUR_MS, to })
    beside.textContent = besideText(answer.figures)
    visitors = new Map(answer.figures.map(({ start, visitors }) => [Date.parse(start), visitors]))
    draw()
    visitorsPanel.show([beside], answer)
  }

  return { show, load }
}

/** @param {() => number} now the server's time */
export function daysPanel(now) {
  const sum = html('p', { class: 'sub' })
  const views = barChart({
    title: 'Page views of the last 30 days',
    unit: 'Day',
    series: ['Page views'],
    small: true,
  })
  const visitors = barChart({
    title: 'Visitors of the last 30 days, by UTC day',
    unit: 'UTC day',
    series: ['Visitors'],
    small: true,
    second: true,
  })
  const note = html(
    'p',
    { class: 'sub' },
    `Page views are by days in ${timeZone}, visitors by days in UTC. A visitor is counted once a ` +
      'UTC day, so visitors of several days cannot be added up.',
  )
  const link = download('history.csv?by=day', 'CSV, 30 days')
  const viewsPart = html('div')
  const visitorsPart = html('div')
  const viewsPanel = new Panel(viewsPart, 'Page views')
  const visitorsPanel = new Panel(visitorsPart, 'Visitors')
  byId('days')
    .querySelector('.body')
    ?.replaceChildren(viewsPart, visitorsPart, note, html('p', { class: 'links' }, link))

  /** @param {Answer} answer */
  function show({ overview }) {
    if (!overview) return viewsPanel.missing()
    const { from, hours } = overview.figures
    const first = Date.parse(from)
    const starts = dayStarts(first + (hours.length - 1) * HOUR_MS, DAYS)
    const perDay = viewsByDay(hours, first, starts)
    views.update(
      starts.map((start, at) => ({
        label: day(start),
        short: shortDay(start),
        values: [perDay[at]],
        open: at === starts.length - 1,
      })),
    )
    sum.textContent = `${counted(total(perDay), 'page view')}. The current day still grows.`
    viewsPanel.show([sum, views.element], overview)
  }

  async function load() {
    const today = Math.floor(now() / DAY_MS) * DAY_MS
    const from = today - (DAYS - 1) * DAY_MS
    const answer = await history(visitorsPanel, { by: 'day', from, to: today + DAY_MS })
    visitors.update(
      answer.figures.map(({ start, visitors }) => {
        const time = Date.parse(start)
        return {
          label: utcDay(time),
          short: shortUtcDay(time),
          values: [visitors],
          open: time === today,
        }
      }),
    )
    visitorsPanel.show([visitors.element], answer)
  }

  return { show, load }
}

/** @param {readonly number[]} counts */
function total(counts) {
  return counts.reduce((sum, count) => sum + count, 0)
}
