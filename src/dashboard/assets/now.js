/** The figures of the window, and the visits after it that are on their way to SQL. */
import { barChart } from './bars.js'
import { byId, html } from './dom.js'
import { counted, number, span, timeOfDay } from './format.js'
import { Panel } from './panel.js'
import { ranking } from './ranked.js'

/**
 * @typedef {object} Overview
 * @property {string} asOf
 * @property {boolean} stale
 * @property {{
 *   windowSeconds: number,
 *   pageViews: number,
 *   visitors: number,
 *   from: string,
 *   hours: readonly number[],
 * }} figures
 */
/**
 * @typedef {object} Answer
 * @property {string} time
 * @property {string | null} trouble
 * @property {Overview | null} overview
 * @property {any} live
 * @property {any} ledger
 */

const LAYERS = 20

/** @param {string} what */
function figure(what, isComing = false) {
  const value = html('strong')
  const label = html('span', {}, what)
  const element = html('p', { class: isComing ? 'figure coming' : 'figure' }, value, ' ', label)
  return { element, value, label }
}

export function nowPanel() {
  const views = figure('page views')
  const visitors = figure('visitors')
  const window = html('p', { class: 'sub' })
  const figures = html('div', { class: 'figures' }, views.element, visitors.element)
  const figuresPart = html('div')
  const complete = new Panel(figuresPart)

  const tail = figure('on their way', true)
  const explained = html('p', { class: 'sub' })
  const chart = barChart({
    title: 'Page views on their way, by layer',
    unit: 'Layer',
    series: ['Page views'],
    small: true,
  })
  const pages = ranking({ caption: 'Pages viewed now', what: 'Page', count: 'Page views' })
  const pagesNow = html('div', { class: 'beside' }, html('h3', {}, 'Pages now'), pages.element)
  const details = html('div', { class: 'columns' }, chart.element, pagesNow)
  const livePart = html('div', { class: 'tail' })
  const live = new Panel(livePart)

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
   * @param {any} answer
   * @param {string} time
   */
  function showTail(answer, time) {
    const layers = answer.layers.slice(-LAYERS)
    const sum = layers.reduce((/** @type {number} */ sum, /** @type {any} */ layer) => {
      return sum + layer.pageViews
    }, 0)
    tail.value.textContent = `+${number(sum)}`
    // While the database is away, it has more layers than were read.
    const since = Math.max(Date.parse(answer.asOf), Date.parse(layers[0]?.start ?? answer.asOf))
    explained.textContent =
      `${counted(sum, 'page view')} after ${timeOfDay(since)}, ` +
      'still on the way to the database. They may change.' +
      (answer.sampled ? ' Only a part of the grid was read, so there are more.' : '')
    const missing = Array.from({ length: LAYERS - layers.length }, () => empty())
    chart.update([...missing, ...layers.map(layerBar)])
    pages.update(
      answer.pages
        .slice(0, 5)
        .map((/** @type {any} */ { page, pageViews }) => ({ name: page, count: pageViews })),
    )
    live.show([tail.element, explained, details], { asOf: time })
  }
}

/** Keeps the place of a layer, so that bars do not change their widths. */
function empty() {
  return { label: 'No layer', short: '', values: [undefined] }
}

/** @param {any} layer */
function layerBar(layer) {
  const label = timeOfDay(Date.parse(layer.start))
  return { label, short: label, values: [layer.pageViews], open: true }
}
