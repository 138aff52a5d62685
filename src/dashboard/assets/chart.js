/**
 * A bar chart, with a thin line for the period before. Both are SVG, all text is HTML. Arrow keys
 * and the pointer read one bar after the other; the table has all of them.
 */
import { foldedTable, html, rightToLeft, setAttributes, svg, table } from './dom.js'
import { number, shortNumber } from './format.js'

/**
 * @typedef {object} Bar
 * @property {string} label names the bar, in full
 * @property {string} short names it on the axis
 * @property {readonly (number | null | undefined)[]} values one for each series; `null`: not known
 * @property {number | null | undefined} [before] the first one in the period before
 * @property {boolean} [open] whether its values can still grow
 */
/**
 * @typedef {object} Chart
 * @property {HTMLElement} element
 * @property {(bars: readonly Bar[], unit: string) => void} update `unit` names what a bar is
 */

const WIDTH = 10
const HEIGHT = 100
const GAP = 2
const INSET = 1.6
/** Most labels of the axis. */
const LABELS = 7
const BEFORE = 'Page views before'
/** Round maxima among units, tens, and hundreds and more. */
const STEPS = [
  [1, 2, 4, 6, 8],
  [1, 2, 3, 4, 5, 6, 8],
  [1, 1.5, 2, 3, 4, 5, 6, 8],
]

/**
 * @param {object} about
 * @param {string} about.title names the chart for screen readers and the table
 * @param {readonly string[]} about.series
 * @param {boolean} [about.small]
 * @returns {Chart}
 */
export function chart({ title, series, small = false }) {
  /** @type {readonly Bar[]} */
  let bars = []
  let unit = ''
  /** @type {number | undefined} */
  let chosen

  const readout = html('p', { class: 'readout' })
  const band = svg('rect', { class: 'band', y: 0, width: WIDTH, height: HEIGHT })
  const drawn = svg('g')
  const line = svg('path', { class: 'before' })
  const picture = svg(
    'svg',
    { preserveAspectRatio: 'none', 'aria-hidden': 'true', focusable: 'false' },
    band,
    drawn,
    line,
  )
  const [top, middle] = [html('span'), html('span')]
  const plot = html(
    'div',
    { class: 'plot', tabindex: 0, role: 'slider', 'aria-label': title },
    picture,
    html('div', { class: 'scale', 'aria-hidden': 'true' }, top, middle, html('span', {}, '0')),
  )
  const axis = html('div', { class: 'axis', 'aria-hidden': 'true' })
  const rows = foldedTable(title, () => {
    const isCompared = bars.some(({ before }) => before !== undefined)
    return table(
      title,
      [unit, ...series, ...(isCompared ? [BEFORE] : [])],
      bars.map(({ label, values, before }) => [
        label,
        ...series.map((_, at) => written(values[at])),
        ...(isCompared ? [written(before)] : []),
      ]),
    )
  })
  const names = series.map((name, at) => html('li', { class: `series-${at}` }, name))
  const beforeName = html('li', { class: 'before', hidden: true }, BEFORE)
  const element = html(
    'figure',
    { class: small ? 'chart small' : 'chart' },
    html('figcaption', {}, html('ul', { class: 'legend' }, ...names, beforeName), readout),
    plot,
    axis,
    rows.element,
  )

  plot.addEventListener('pointermove', (event) => {
    const { left, width } = picture.getBoundingClientRect()
    const share = (event.clientX - left) / width
    choose(Math.floor((rightToLeft() ? 1 - share : share) * bars.length))
  })
  plot.addEventListener('pointerleave', () => choose(undefined))
  plot.addEventListener('blur', () => choose(undefined))
  plot.addEventListener('focus', () => choose(chosen ?? bars.length - 1))
  plot.addEventListener('keydown', (event) => {
    const step = rightToLeft() ? -1 : 1
    const last = bars.length - 1
    const here = chosen ?? last
    /** @type {Readonly<Record<string, number>>} */
    const targets = {
      ArrowRight: here + step,
      ArrowUp: here + 1,
      ArrowLeft: here - step,
      ArrowDown: here - 1,
      Home: 0,
      End: last,
    }
    const target = targets[event.key]
    if (target === undefined) return
    event.preventDefault()
    choose(target)
  })

  /** @param {Bar} bar */
  function described({ label, values, before, open }) {
    const counts = values.flatMap((value, at) => {
      const name = series[at]?.toLowerCase()
      if (value === undefined) return []
      return [value === null ? `${name} not known` : `${number(value)} ${name}`]
    })
    const so = open ? ' so far' : ''
    const then = typeof before === 'number' ? `; ${number(before)} before` : ''
    return `${label}: ${counts.join(', ')}${so}${then}`
  }

  /** @param {number | undefined} at */
  function choose(at) {
    chosen = at === undefined || bars.length === 0 ? undefined : clamp(at, 0, bars.length - 1)
    const bar = bars[chosen ?? -1]
    readout.textContent = bar ? described(bar) : ''
    setAttributes(band, { x: (chosen ?? 0) * WIDTH, visibility: bar ? 'visible' : 'hidden' })
    const now = chosen ?? bars.length - 1
    setAttributes(plot, {
      'aria-valuemin': 1,
      'aria-valuemax': Math.max(1, bars.length),
      'aria-valuenow': now + 1,
      'aria-valuetext': bars[now] ? described(bars[now]) : 'No figures yet',
    })
  }

  /**
   * @param {readonly Bar[]} newBars
   * @param {string} newUnit
   */
  function update(newBars, newUnit) {
    if (newUnit !== unit || newBars.length !== bars.length) chosen = undefined
    ;[bars, unit] = [newBars, newUnit]
    const counts = bars.flatMap(({ values, before }) => [...values, before].map(orZero))
    const highest = roundMaximum(Math.max(0, ...counts))
    setAttributes(picture, { viewBox: `0 0 ${bars.length * WIDTH} ${HEIGHT}` })
    drawn.replaceChildren(
      ...bars.flatMap(({ values, open }, at) =>
        values.map((value, of) => rectangle(at, of, orZero(value) / highest, open === true)),
      ),
    )
    setAttributes(line, { d: pathOf(bars, highest) })
    beforeName.hidden = !bars.some(({ before }) => typeof before === 'number')
    top.textContent = shortNumber(highest)
    middle.textContent = highest > 1 ? shortNumber(highest / 2) : ''
    axis.replaceChildren(...labelled(bars))
    rows.update()
    choose(chosen)
  }

  return { element, update }
}

/**
 * @param {number} at
 * @param {number} of
 * @param {number} share
 * @param {boolean} open
 */
function rectangle(at, of, share, open) {
  const inset = GAP / 2 + of * INSET
  const height = Math.max(share > 0 ? 0.6 : 0, share * HEIGHT)
  return svg('rect', {
    class: `series-${of}${open ? ' open' : ''}`,
    x: at * WIDTH + inset,
    y: HEIGHT - height,
    width: WIDTH - 2 * inset,
    height,
  })
}

/**
 * A line through the values of the period before, with gaps where they are not known.
 *
 * @param {readonly Bar[]} bars
 * @param {number} highest
 */
function pathOf(bars, highest) {
  let isDrawn = false
  return bars
    .map(({ before }, at) => {
      const step = isDrawn ? 'L' : 'M'
      isDrawn = typeof before === 'number'
      return isDrawn
        ? `${step}${(at + 0.5) * WIDTH} ${HEIGHT * (1 - orZero(before) / highest)}`
        : ''
    })
    .join('')
}

/** @param {number | null | undefined} value */
const written = (value) => (value === undefined ? '' : value === null ? 'not known' : number(value))

/**
 * The axis: each bar has its label below it, or each of several bars that of the first one.
 *
 * @param {readonly Bar[]} bars
 */
function labelled(bars) {
  const step = Math.max(1, Math.ceil(bars.length / LABELS))
  return bars.flatMap(({ short }, at) => {
    if (at % step !== 0) return []
    const width = Math.min(step, bars.length - at)
    const text = width < step / 2 ? '' : short
    const label = html('span', { class: step > 1 ? 'first' : undefined }, text)
    label.style.flexGrow = String(width)
    return [label]
  })
}

/**
 * The next round number of which half is round, too: 1, 2, 4, 6, 8, 10, 20, 30, … 100, 150, 200, …
 *
 * @param {number} value
 */
export function roundMaximum(value) {
  if (value <= 1) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const steps = STEPS[Math.min(2, Math.round(Math.log10(power)))] ?? []
  return (steps.find((step) => step * power >= value) ?? 10) * power
}

/** @param {number | null | undefined} value */
const orZero = (value) => value ?? 0

/**
 * @param {number} value
 * @param {number} least
 * @param {number} most
 */
const clamp = (value, least, most) => Math.min(most, Math.max(least, value))
