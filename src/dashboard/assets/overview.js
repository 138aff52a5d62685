/** The figures of several sites, a row for each. */
import { byId, html, renew, svg } from './dom.js'
import { counted, direction, number, signed } from './format.js'
import { AnswerError, json, poll } from './poll.js'

const EVERY_MS = 10_000
const [WIDTH, HEIGHT] = [120, 24]

/**
 * @typedef {object} Site
 * @property {string} name
 * @property {number} now
 * @property {number | null} week
 * @property {number | null} before
 * @property {number | null} change
 * @property {readonly (number | null)[]} days
 */

const COLUMNS = ['Site', 'Last 10 minutes', 'Last 7 days', 'Change', 'Last 30 days']

poll(
  EVERY_MS,
  async () => {
    /** @type {readonly Site[]} */
    const sites = await json('sites.json')
    renew(byId('sites'), sites, () => [table(sites)])
    byId('status').textContent = counted(sites.length, 'site')
  },
  (error) => {
    const isSignedOut = error instanceof AnswerError && error.isSignedOut
    byId('status').textContent = isSignedOut
      ? 'You are signed out: sign in and load this page again.'
      : 'There are no new figures at the moment.'
  },
)

/** @param {readonly Site[]} sites */
function table(sites) {
  return html(
    'table',
    { class: 'plain' },
    html('caption', { class: 'hidden' }, 'Page views of sites, the greatest change first'),
    html(
      'thead',
      {},
      html('tr', {}, ...COLUMNS.map((column) => html('th', { scope: 'col' }, column))),
    ),
    html('tbody', {}, ...sites.map(row)),
  )
}

/** @param {Site} site */
function row({ name, now, week, before, change, days }) {
  return html(
    'tr',
    {},
    html('th', { scope: 'row' }, html('bdi', {}, name)),
    html('td', {}, number(now)),
    html('td', {}, week === null ? '–' : number(week)),
    html(
      'td',
      before === null ? {} : { title: `${counted(before, 'page view')} in the 7 days before` },
      change === null ? '–' : html('bdi', { class: direction(change), dir: 'ltr' }, signed(change)),
    ),
    html('td', {}, line(days)),
  )
}

/** A small line from 0 up. @param {readonly (number | null)[]} days */
function line(days) {
  const most = Math.max(1, ...days.map((one) => one ?? 0))
  const points = days.flatMap((views, at) => {
    if (views === null) return []
    const [x, y] = [(at * WIDTH) / (days.length - 1), HEIGHT - 1 - (views * (HEIGHT - 2)) / most]
    return [`${x.toFixed(1)},${y.toFixed(1)}`]
  })
  const known = days.flatMap((one) => one ?? [])
  const label = `${counted(Math.max(0, ...known), 'page view')} on the busiest day`
  return svg(
    'svg',
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      width: '90%',
      height: HEIGHT,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': label,
    },
    svg('polyline', { points: points.join(' '), fill: 'none', stroke: 'currentColor' }),
  )
}
