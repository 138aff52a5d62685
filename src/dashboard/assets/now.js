/** The figures of the last minutes, and the views after them that are on their way to SQL. */
import { byId, html } from './dom.js'
import { itemLink } from './choice.js'
import { counted, number, span, timeOfDay } from './format.js'
import { named } from './label.js'
import { Panel } from './panel.js'

/**
 * @typedef {object} Overview
 * @property {string} asOf
 * @property {boolean} stale
 * @property {{ windowSeconds: number, pageViews: number, visitors: number, today: Today }} figures
 */
/** Page views of the UTC day so far. @typedef {{ day: string, views: number }} Today */
/** @typedef {{ page: string, pageViews: number }} PageNow */
/**
 * @typedef {object} Answer
 * @property {string} time
 * @property {string | null} trouble
 * @property {Overview | null} overview
 * @property {any} live
 * @property {any} ledger
 */

const PAGES = 5

/** @param {string} what */
function figure(what) {
  const value = html('strong')
  const label = html('span', {}, what)
  return { element: html('p', { class: 'figure' }, value, ' ', label), value, label }
}

export function nowPanel() {
  const visitors = figure('visitors')
  const views = figure('page views')
  const window = html('p', { class: 'sub' })
  const figures = html('div', { class: 'figures' }, visitors.element, views.element)
  const figuresPart = html('div')
  const complete = new Panel(figuresPart)

  const coming = html('p')
  const pages = html('ol', { class: 'newest' })
  const livePart = html('div', { class: 'tail' })
  const live = new Panel(livePart)
  let shown = ''

  byId('now')
    .querySelector('.body')
    ?.replaceChildren(html('div', { class: 'columns' }, figuresPart, livePart))

  /** @param {Answer} answer */
  return function update({ time, overview, live: tail }) {
    if (overview) showFigures(overview)
    else complete.missing()
    if (tail) showTail(tail, time)
    else live.missing()
  }

  /** @param {Overview} overview */
  function showFigures(overview) {
    const { pageViews, visitors: people, windowSeconds } = overview.figures
    views.value.textContent = number(pageViews)
    views.label.textContent = pageViews === 1 ? 'page view' : 'page views'
    visitors.value.textContent = number(people)
    visitors.label.textContent = people === 1 ? 'visitor' : 'visitors'
    window.textContent = `In the last ${span(windowSeconds)}.`
    complete.show([figures, window], overview)
  }

  /**
   * @param {{ asOf: string, layers: readonly { start: string, pageViews: number }[],
   *   pages: readonly PageNow[], sampled: boolean }} answer
   * @param {string} time
   */
  function showTail({ asOf, layers, pages: newest, sampled }, time) {
    const sum = layers.reduce((sum, layer) => sum + layer.pageViews, 0)
    // While the database is away, it has more layers than were read.
    const since = Math.max(Date.parse(asOf), Date.parse(layers[0]?.start ?? asOf))
    coming.textContent =
      `${sampled ? 'More than ' : ''}${counted(sum, 'page view')} since ${timeOfDay(since)} ` +
      `${sum === 1 ? 'is' : 'are'} on the way to the database, and not in the figures yet.`
    const viewed = newest.slice(0, PAGES)
    // What has the focus there, or is read, stays as long as nothing changes.
    const key = JSON.stringify([viewed, location.search])
    if (key !== shown && !pages.contains(document.activeElement)) {
      shown = key
      pages.replaceChildren(...viewed.map(pageNow))
    }
    live.show([html('h3', {}, 'Newest pages'), pages, coming], { asOf: time })
  }
}

/** @param {PageNow} page */
function pageNow({ page, pageViews }) {
  const link = itemLink({ dimension: 'page', value: page }, named('page', page))
  return html('li', {}, link, ` ${number(pageViews)}`)
}
