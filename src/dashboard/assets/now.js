/** The figures of the window, and the visits after it that are on their way to SQL. */
import { barChart } from './bars.js'
import { html } from './dom.js'
import { counted, number, span, timeOfDay } from './format.js'
import { Panel } from './panel.js'
import { ranking } from './ranked.js'

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

  const whole = new Panel('now')
  const columns = html('div', { class: 'columns' }, figuresPart, livePart)

  /** @param {{ stats: any, live: any }} answer */
  return function update(answer) {
    whole.show([columns])
    if (answer.stats) showFigures(answer.stats)
    else complete.missing()
    if (answer.live) showTail(answer.live)
    else live.missing()
  }

  /** @param {any} stats */
  function showFigures(stats) {
    views.value.textContent = number(stats.pageViews)
    views.label.textContent = stats.pageViews === 1 ? 'page view' : 'page views'
    visitors.value.textContent = number(stats.visitors)
    visitors.label.textContent = stats.visitors === 1 ? 'visitor' : 'visitors'
    window.textContent =
      `In the ${span(stats.windowSeconds)} before ${timeOfDay(Date.parse(stats.asOf))}.` +
      (stats.stale ? ' These figures are older than they should be.' : '')
    figuresPart.classList.toggle('stale', stats.stale)
    complete.show([figures, window])
  }

  /** @param {any} answer */
  function showTail(answer) {
    const layers = answer.layers.slice(-LAYERS)
    const sum = layers.reduce((/** @type {number} */ sum, /** @type {any} */ layer) => {
      return sum + layer.pageViews
    }, 0)
    tail.value.textContent = `+${number(sum)}`
    explained.textContent =
      `${counted(sum, 'page view')} after ${timeOfDay(Date.parse(answer.asOf))}, ` +
      'still on the way to the database. They may change.' +
      (answer.sampled ? ' Only a part of the grid was read, so there are more.' : '')
    const missing = Array.from({ length: LAYERS - layers.length }, () => empty())
    chart.update([...missing, ...layers.map(layerBar)])
    pages.update(
      answer.pages
        .slice(0, 5)
        .map((/** @type {any} */ { page, pageViews }) => ({ name: page, count: pageViews })),
    )
    live.show([tail.element, explained, details])
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
