/**
 * Bars, with a dash for each of the period before, or a line for the whole site. Arrow keys and the
 * pointer read one bar after the other. It is drawn anew when its size changes.
 */
import { html, renew, rightToLeft, setAttributes, svg } from './dom.js'
import { number, shortNumber, signed } from './format.js'
import { hideTip, showTip } from './tips.js'

/**
 * @typedef {object} Bar
 * @property {string} title names the bar, in full
 * @property {string} short names it on the axis
 * @property {number | null} [value] `null`: not known; without: it is still to come
 * @property {number | null} [before] in the period before, or of the whole site
 * @property {string} [beforeTitle] names that
 * @property {number | null | undefined} [unseen] views that no browser reported, beside a share
 * @property {boolean} [open] whether its value can still grow
 * @property {boolean} [imported] whether it was imported, at least in part
 * @property {string} [note] what happened there
 * @property {() => void} [show] opens it
 */
/**
 * @typedef {object} Data
 * @property {readonly Bar[]} bars
 * @property {string} name of the values
 * @property {string} unit of the bars
 * @property {string} [beforeName] of the values before
 * @property {boolean} isWhole whether these are of the whole site, on a scale of their own
 * @property {boolean} isShare
 * @property {boolean} isCut whether a spike is cut
 * @property {string} until when an open bar ends
 * @property {(value: number) => string} text
 */

const [TOP, BOTTOM, LEFT] = [22, 24, 40]
const WIDEST = 64
const CHARACTER = 6.6
/** A spike is over so many times what four of five bars stay under, and one of few. */
const SPIKE = 2
/** Longer notes are cut, and where they would overlap, they are numbers. */
const LONGEST_NOTE = 24
const UNSEEN = 'Not reported'
const STEPS = [1, 1.5, 2, 3, 4, 5, 6, 8, 10]

/** The next round number. @param {number} value */
export function roundMaximum(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)))
  const steps = power === 1 ? [1, 2, 4, 6, 8, 10] : STEPS
  return (steps.find((step) => step * power >= value) ?? 10) * power
}

/** The bars that stand out, and where they would be cut. @param {readonly Bar[]} bars */
export function spikesOf(bars) {
  const values = bars.map(({ value }) => value ?? 0)
  const sorted = values.toSorted((a, b) => b - a)
  const usual = sorted[Math.floor(sorted.length / 5)] ?? 0
  const tall = values.filter((value) => value > SPIKE * usual)
  const isSpiky = usual > 0 && tall.length > 0 && tall.length <= bars.length / 8
  const rest = values.filter((value) => value <= SPIKE * usual)
  const before = bars.map((bar) => bar.before ?? 0)
  const limit = roundMaximum(1.12 * Math.max(1, ...rest, ...before))
  return isSpiky ? { above: SPIKE * usual, limit } : undefined
}

export function chart() {
  /** @type {Data | undefined} */
  let data
  /** @type {number | undefined} */
  let chosen
  /** @type {SVGRectElement[]} */
  let hits = []
  /** @type {typeof import('./table.js')['table'] | undefined} */
  let table

  const plot = html('div.plot', { tabindex: 0, role: 'slider', 'aria-label': 'Chart' })
  const asTable = html('div.scrolls', { tabindex: 0, role: 'region', hidden: true })
  const element = html('div', plot, asTable)

  plot.addEventListener('pointermove', ({ clientX, clientY }) => {
    const { left, width } = plot.getBoundingClientRect()
    const { start, step } = sizes()
    const x = rightToLeft() ? width - (clientX - left) : clientX - left
    read(Math.floor((x - start) / step), clientX, clientY)
  })
  plot.addEventListener('click', () => data?.bars[chosen ?? -1]?.show?.())
  for (const end of ['pointerleave', 'blur']) {
    plot.addEventListener(end, () => {
      hideTip()
      mark(undefined)
    })
  }
  plot.addEventListener('keydown', (event) => {
    const last = (data?.bars.length ?? 0) - 1
    const here = chosen ?? last + 1
    const step = rightToLeft() ? -1 : 1
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
    if (event.key === 'Enter') data?.bars[chosen ?? -1]?.show?.()
    if (target === undefined || last < 0) return
    event.preventDefault()
    const at = Math.max(0, Math.min(last, target))
    const { left, width, top } = plot.getBoundingClientRect()
    const { start, step: wide } = sizes()
    const x = start + (at + 0.5) * wide
    read(at, rightToLeft() ? left + width - x : left + x, top + 60)
  })
  new ResizeObserver(() => draw()).observe(plot)
  mark(undefined)

  function sizes() {
    const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16
    const end = data?.isWhole ? LEFT * unit : 0
    const width = plot.clientWidth - LEFT * unit - end
    return { unit, start: LEFT * unit, end, step: width / Math.max(1, data?.bars.length ?? 1) }
  }

  /** @param {number} at @param {number} x @param {number} y */
  function read(at, x, y) {
    const bar = data?.bars[at]
    if (!bar || !data) return mark(undefined)
    mark(at)
    showTip([bar.title, ...linesOf(bar, data)], x, y)
  }

  /** @param {number | undefined} at */
  function mark(at) {
    chosen = at
    hits.forEach((hit, of) => hit.classList.toggle('at', of === at))
    const bars = data?.bars ?? []
    const now = at ?? bars.length - 1
    const bar = bars[now]
    const lines = bar && data ? linesOf(bar, data).map((line) => [line].flat().join(' ')) : []
    setAttributes(plot, {
      'aria-valuemin': 1,
      'aria-valuemax': Math.max(1, bars.length),
      'aria-valuenow': Math.max(1, now + 1),
      'aria-valuetext': bar ? [bar.title, ...lines].join(', ') : 'No figures yet',
    })
  }

  /** @param {Data} newData */
  function update(newData) {
    if (newData.bars.length !== data?.bars.length) chosen = undefined
    data = newData
    plot.setAttribute('aria-label', `${data.name} by ${data.unit}. Enter opens one.`)
    if (!asTable.hidden) void fillTable()
    draw()
    mark(chosen)
  }

  /** Switches between the bars and a table of them. */
  function toggle() {
    asTable.hidden = !asTable.hidden
    plot.hidden = !asTable.hidden
    if (!asTable.hidden) void fillTable()
    return !asTable.hidden
  }

  async function fillTable() {
    // Once it is loaded, the table never shows what it showed before.
    table ??= (await import('./table.js')).table
    const tableOf = table
    if (!data) return
    const { name, unit, bars, beforeName, isShare } = data
    const caption = `${name} by ${unit}`
    asTable.setAttribute('aria-label', caption)
    const hasNotes = bars.some(({ note }) => note)
    const columns = [
      unit,
      name,
      ...(beforeName ? [beforeName] : []),
      ...(isShare ? [UNSEEN] : []),
      ...(hasNotes ? ['Note'] : []),
    ]
    const rows = bars.map(({ title, value, before, unseen, note = '' }) => [
      title[0]?.toUpperCase() + title.slice(1),
      written(value),
      ...(beforeName ? [written(before)] : []),
      ...(isShare ? [typeof unseen === 'number' ? number(unseen) : ''] : []),
      ...(hasNotes ? [note] : []),
    ])
    renew(asTable, [columns, rows], () => [tableOf(caption, columns, rows)])
  }

  /** @param {number | null | undefined} value */
  function written(value) {
    return value === undefined ? '' : value === null ? 'not known' : (data?.text(value) ?? '')
  }

  function draw() {
    const { clientWidth: width, clientHeight: height } = plot
    if (!data || width === 0) return
    const { bars, isWhole, isShare, isCut } = data
    const { unit, start, end, step } = sizes()
    const bottom = height - BOTTOM * unit
    const high = bottom - TOP * unit
    const turned = rightToLeft()
    const spikes = isShare ? undefined : spikesOf(bars)
    const counts = bars.map(({ value }) => value ?? 0)
    const before = bars.map((bar) => bar.before ?? 0)
    const most = isShare
      ? Math.max(1, ...counts)
      : isCut && spikes
        ? spikes.limit
        : roundMaximum(Math.max(1, ...counts, ...(isWhole ? [] : before)))
    const mostBefore = isWhole ? roundMaximum(Math.max(1, ...before)) : most
    /** @param {number} x */
    const across = (x) => (turned ? width - x : x)
    /** @param {number} value @param {number} of */
    const up = (value, of = most) => bottom - (high * Math.min(value, of)) / of
    /** @param {number} at */
    const middle = (at) => start + step * (at + 0.5)
    const wide = Math.max(2, Math.min(WIDEST, step * 0.66))
    const scale = isShare ? data.text : shortNumber

    const root = svg('svg', { 'aria-hidden': 'true', focusable: 'false' })
    for (const part of [1, 0.5, 0]) {
      const y = up(most * part)
      const ends = { x1: across(start), x2: across(width - end), y1: y, y2: y }
      root.append(svg('line', { class: part ? 'grid' : 'base', ...ends }))
      if (part === 0.5 && most === 1 && !isShare) continue
      root.append(text(across(start - 8), y + 4, scale(most * part), turned ? 'start' : 'end'))
      if (!isWhole || part === 0) continue
      const of = shortNumber(mostBefore * part)
      root.append(text(across(width - end + 8), y + 4, of, turned ? 'end' : 'start'))
    }
    if (bars.some(({ imported }) => imported)) root.append(hatching())
    bars.forEach(({ value, open, imported }, at) => {
      if (!value) return
      const left = across(middle(at)) - wide / 2
      const y = Math.min(up(value), bottom - 1)
      root.append(
        svg('path', {
          ...(imported ? { fill: 'url(#imported)' } : { class: open ? 'bar part' : 'bar' }),
          d: shape(left, y, wide, bottom),
        }),
      )
      if (spikes === undefined || value <= spikes.above) return
      if (value > most) root.append(svg('path', { class: 'cut', d: zigzag(left, y + 22, wide) }))
      const isHighest = counts.every((one, of) => Math.abs(of - at) > 1 || one <= value)
      if (!isHighest && step < 48 * unit) return
      const label = text(within(across(middle(at)), number(value)), y - 6, number(value))
      label.setAttribute('class', 'strong')
      root.append(label)
    })
    const tick = Math.min(step * 0.44, wide / 2 + 5)
    const path = pathOf((at) => [across(middle(at)), up(before[at] ?? 0, mostBefore)], tick)
    for (const style of path ? ['halo', 'before'] : []) {
      root.append(svg('path', { class: style, d: path }))
    }
    const noted = bars.flatMap(({ note }, at) => (note ? [at] : []))
    const room = (LONGEST_NOTE * CHARACTER * unit) / step
    const areMany = noted.some((at, of) => of > 0 && at - (noted[of - 1] ?? 0) < room)
    noted.forEach((at, of) => {
      const { note = '', value } = bars[at] ?? {}
      const x = across(middle(at))
      const isAtEnd = at > bars.length / 2
      const short = areMany ? String(of + 1) : cutNote(note)
      // A spike has its number there.
      const isSpike = spikes !== undefined && (value ?? 0) > spikes.above
      const half = isSpike ? (number(value ?? 0).length * CHARACTER * unit) / 2 : 0
      const beside = (isAtEnd === turned ? 1 : -1) * (6 + half)
      root.append(
        svg('line', { class: 'pin', x1: x, x2: x, y1: 2, y2: up(value ?? 0) - (isSpike ? 18 : 2) }),
      )
      const label = text(x + beside, 12 * unit, short, beside > 0 ? 'start' : 'end')
      label.setAttribute('class', 'strong')
      root.append(label)
    })
    const longest = Math.max(...bars.map(({ short }) => short.length)) * CHARACTER + 14
    const every = Math.max(1, Math.ceil((longest * unit) / step))
    bars.forEach(({ short }, at) => {
      if (at % every !== 0) return
      root.append(text(within(across(middle(at)), short), height - 6 * unit, short))
    })
    hits = bars.map((_, at) => {
      const x = across(start + step * (at + (turned ? 1 : 0)))
      return svg('rect', { class: 'hit', x, y: 0, width: step, height: bottom + 2, rx: 4 })
    })
    root.append(...hits)
    plot.replaceChildren(root)
    if (chosen !== undefined) hits[chosen]?.classList.add('at')

    /** Keeps a text in the picture. @param {number} x @param {string} of */
    function within(x, of) {
      const half = (of.length * CHARACTER * unit) / 2
      return Math.max(half, Math.min(width - half, x))
    }

    /**
     * A dash for each, or a line through all.
     *
     * @param {(at: number) => [number, number]} point
     * @param {number} half
     */
    function pathOf(point, half) {
      let isDrawn = false
      return bars
        .map((bar, at) => {
          if (typeof bar.before !== 'number') return ((isDrawn = false), '')
          const [x, y] = point(at).map((one) => one.toFixed(1))
          if (!isWhole) return `M${(Number(x) - half).toFixed(1)} ${y}h${(2 * half).toFixed(1)}`
          const step = isDrawn ? 'L' : 'M'
          isDrawn = true
          return `${step}${x} ${y}`
        })
        .join('')
    }
  }

  return { element, update, toggle }
}

/** @param {Bar} bar @param {Data} data */
function linesOf({ value, before, beforeTitle, unseen, open, imported, note }, data) {
  /** @type {(string | readonly [string, string])[]} */
  const lines = []
  if (value === null) lines.push(`${data.name}: not known`)
  else if (value === undefined) lines.push('Still to come')
  else lines.push([data.name, data.text(value)])
  if (typeof before === 'number') lines.push([beforeTitle ?? 'Before', data.text(before)])
  if (typeof unseen === 'number') lines.push([UNSEEN, number(unseen)])
  const isCompared = before && value && !open && !data.isWhole && !data.isShare
  if (isCompared) lines.push(['Change', signed(value / before - 1)])
  if (open) lines.push(`So far, until ${data.until}`)
  if (imported) lines.push('Imported, not counted here')
  if (note) lines.push(`Note: ${note}`)
  return lines
}

/** @param {number} x @param {number} y @param {string} content @param {string} [anchor] */
function text(x, y, content, anchor = 'middle') {
  return svg('text', { x, y, 'text-anchor': anchor, direction: 'ltr' }, content)
}

/** The filling of what was imported. A style cannot name it: its address is another one. */
function hatching() {
  const size = { width: 5, height: 5, patternUnits: 'userSpaceOnUse' }
  const pattern = svg('pattern', { id: 'imported', ...size, patternTransform: 'rotate(45)' })
  pattern.append(svg('path', { class: 'bar', d: 'M0 0h2.5v5h-2.5z' }))
  return pattern
}

/** @param {string} note */
const cutNote = (note) =>
  note.length > LONGEST_NOTE ? `${[...note].slice(0, LONGEST_NOTE).join('')}…` : note

/**
 * A bar with round corners.
 *
 * @param {number} x
 * @param {number} y of its top
 * @param {number} w
 * @param {number} b of its bottom
 */
function shape(x, y, w, b) {
  const r = Math.min(3, w / 3, b - y)
  const side = b - y - r
  return `M${x} ${b}v${-side}q0 ${-r} ${r} ${-r}h${w - 2 * r}q${r} 0 ${r} ${r}v${side}z`
}

/** @param {number} x @param {number} y @param {number} w */
function zigzag(x, y, w) {
  const part = w / 4
  return `M${x - 2} ${y}l${part + 1} -5 ${part} 5 ${part} -5 ${part + 1} 5`
}
