/** The most viewed values of each dimension, in a range that the viewer chooses. */
import { seenText, shareSeen, WHY_MORE } from './beside.js'
import { byId, html } from './dom.js'
import { country } from './format.js'
import { download, query } from './history.js'
import { Panel } from './panel.js'
import { json } from './poll.js'
import { ranking } from './ranked.js'

/**
 * @typedef {object} Top
 * @property {string} asOf
 * @property {boolean} stale
 * @property {readonly (import('./beside.js').Views & { value: string | null })[]} figures
 */

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const SHOWN = 10
const IN_CSV = 1_000

/** @type {Readonly<Record<string, string>>} */
const TITLES = {
  page: 'Pages',
  referrer: 'Referrers',
  campaign: 'Campaigns',
  country: 'Countries',
  device: 'Devices',
}

/** @param {() => number} now the server's time */
export function topsPanel(now) {
  const holder = /** @type {HTMLElement} */ (byId('tops').querySelector('.body'))
  /** @type {Map<string, ReturnType<typeof card>>} */
  const cards = new Map()

  /** @param {readonly string[]} dimensions */
  return async function load(dimensions) {
    for (const dimension of dimensions) {
      if (cards.has(dimension)) continue
      const made = card(dimension)
      cards.set(dimension, made)
      holder.append(made.element)
    }
    const to = Math.ceil(now() / HOUR_MS) * HOUR_MS
    const days = chosenDays()
    // Values of older days are there by UTC days only.
    const from =
      days === 1 ? to - DAY_MS : Math.floor(now() / DAY_MS) * DAY_MS - (days - 1) * DAY_MS
    const done = await Promise.allSettled([...cards.values()].map((one) => one.load({ from, to })))
    const failed = done.find((one) => one.status === 'rejected')
    if (failed) throw failed.reason
  }
}

function chosenDays() {
  /** @type {HTMLInputElement | null} */
  const checked = byId('range').querySelector('input:checked')
  return Number(checked?.value ?? 1)
}

/** @param {string} dimension */
function card(dimension) {
  const title = TITLES[dimension] ?? dimension
  const rows = ranking({
    caption: `Most viewed: ${title}`,
    what: title,
    count: 'Page views',
  })
  const link = download('top.csv', 'CSV')
  link.setAttribute('aria-label', `${title} as CSV`)
  const isPage = dimension === 'page'
  const why = html('p', { class: 'sub', hidden: true }, WHY_MORE)
  const body = html('div')
  const panel = new Panel(body)
  const element = html(
    'article',
    { class: 'card', 'data-dimension': dimension },
    html('div', { class: 'bar' }, html('h3', {}, title), link),
    body,
  )

  /** @param {{ from: number, to: number }} range */
  async function load(range) {
    const parameters = { dimension, ...range }
    /** @type {Top} */
    let answer
    try {
      answer = await json(`top.json?${query({ ...parameters, n: SHOWN })}`)
    } catch (error) {
      panel.missing()
      throw error
    }
    link.setAttribute('href', `top.csv?${query({ ...parameters, n: IN_CSV })}`)
    rows.update(
      answer.figures.map((views) => ({
        name: labelOf(dimension, views.value),
        count: views.pageViews,
        quiet: views.value === null || views.value === '(other)',
        note: isPage ? seenText(views) : '',
      })),
    )
    why.hidden = !isPage || !answer.figures.some((views) => (shareSeen(views) ?? 0) > 100)
    panel.show([rows.element, why], answer)
  }

  return { element, load }
}

/**
 * @param {string} dimension
 * @param {string | null} value
 */
function labelOf(dimension, value) {
  if (value === null) return '(none)'
  return dimension === 'country' ? country(value) : value
}
