/** The last 24 hours and the last 30 days. */
import { barChart } from './bars.js'
import { dayStarts, viewsByDay } from './days.js'
import { html } from './dom.js'
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

/** @typedef {{ start: string, pageViews: number, visitors: number }} Sums */

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

/** @param {() => number} now the server's time */
export function hoursPanel(now) {
  const panel = new Panel('hours')
  const sum = html('p', { class: 'sub' })
  const chart = barChart({
    title: 'Page views and visitors of the last 24 hours',
    unit: 'Hour',
    series: ['Page views', 'Visitors'],
  })
  const link = download('history.csv?by=hour', 'CSV, 30 days by hour')

  return async function load() {
    const thisHour = Math.floor(now() / HOUR_MS) * HOUR_MS
    const from = thisHour - (HOURS - 1) * HOUR_MS
    /** @type {Sums[]} */
    let hours
    try {
      hours = await json(`history.json?${query({ by: 'hour', from, to: thisHour + HOUR_MS })}`)
    } catch (error) {
      panel.missing()
      throw error
    }
    chart.update(
      hours.map(({ start, pageViews, visitors }) => {
        const time = Date.parse(start)
        return {
          label: hourOfWeek(time),
          short: minuteOfDay(time),
          values: [pageViews, visitors],
          open: time === thisHour,
        }
      }),
    )
    sum.textContent = `${counted(total(hours), 'page view')}. The current hour still grows.`
    panel.show([sum, chart.element, html('p', { class: 'links' }, link)])
  }
}

/** @param {() => number} now the server's time */
export function daysPanel(now) {
  const panel = new Panel('days')
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

  return async function load() {
    const starts = dayStarts(now(), DAYS)
    const today = Math.floor(now() / DAY_MS) * DAY_MS
    /** @type {[Sums[], Sums[]]} */
    let answers
    try {
      answers = await Promise.all([
        json(`history.json?${query({ by: 'hour', from: starts[0] ?? 0, to: now() })}`),
        json(`history.json?${query({ by: 'day', from: today - (DAYS - 1) * DAY_MS, to: now() })}`),
      ])
    } catch (error) {
      panel.missing()
      throw error
    }
    const [hours, utcDays] = answers
    const perDay = viewsByDay(hours, starts)
    views.update(
      starts.map((start, at) => ({
        label: day(start),
        short: shortDay(start),
        values: [perDay[at]],
        open: at === starts.length - 1,
      })),
    )
    visitors.update(
      utcDays.map(({ start, visitors }) => {
        const time = Date.parse(start)
        return {
          label: utcDay(time),
          short: shortUtcDay(time),
          values: [visitors],
          open: time === today,
        }
      }),
    )
    sum.textContent = `${counted(
      perDay.reduce((sum, count) => sum + count, 0),
      'page view',
    )}. The current day still grows.`
    panel.show([sum, views.element, visitors.element, note, html('p', { class: 'links' }, link)])
  }
}

/** @param {readonly Sums[]} sums */
function total(sums) {
  return sums.reduce((sum, { pageViews }) => sum + pageViews, 0)
}
