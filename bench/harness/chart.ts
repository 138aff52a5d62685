/**
 * Pictures of results as SVG: bars, sorted, or lines over a number, each with the spread of its
 * samples. They are transparent and follow the reader's colour scheme.
 */

import type { Metric, Samples } from './samples.js'
import type { Spread } from './statistics.js'
import { number } from './table.js'

export interface Axis {
  /** The quantity, with its unit. */
  readonly name: string
  /** Tenfold steps. @default even steps from 0 */
  readonly log?: boolean
}

/** The ends of the line that shows the spread. */
type Ends = Partial<Pick<Spread, 'low' | 'high'>>

export interface Bar extends Ends {
  readonly name: string
  readonly value: number
  /** Printed beside the bar. @default the value */
  readonly said?: string
}

/** A point of a line, with its spread. */
export const pointOf = (x: number, { median, low, high }: Spread) => ({ x, y: median, low, high })

/** A line for each contender, over the numbers that are its settings. */
export function linesOf(
  samples: Samples,
  contenders: readonly string[],
  settings: readonly number[],
  metric: Metric,
): LineChart['lines'] {
  return contenders.map((name) => ({
    name,
    points: settings.map((x) => pointOf(x, samples.spread(name, String(x), metric))),
  }))
}

/** A bar of samples: their median. */
export const barOf = (name: string, { median, low, high }: Spread): Bar => ({
  name,
  value: median,
  low,
  high,
})

export interface BarChart {
  readonly type: 'bars'
  readonly title: string
  readonly x: Axis
  /** Bars under a heading of their own, or all together: the shortest first. */
  readonly groups: readonly { readonly name?: string; readonly bars: readonly Bar[] }[]
}

export interface LineChart {
  readonly type: 'lines'
  readonly title: string
  readonly x: Axis
  readonly y: Axis
  readonly lines: readonly {
    readonly name: string
    readonly points: readonly (Ends & { readonly x: number; readonly y: number })[]
    /** Calculated, not measured. */
    readonly dashed?: boolean
  }[]
}

export type Chart = BarChart | LineChart

export const groupedBars = (title: string, unit: string, groups: BarChart['groups']): BarChart => ({
  type: 'bars',
  title,
  x: { name: unit },
  groups,
})

export const barChart = (title: string, unit: string, bars: readonly Bar[]): BarChart =>
  groupedBars(title, unit, [{ bars }])

/** A chart with tenfold steps both ways. */
export const logChart = (
  title: string,
  x: string,
  y: string,
  lines: LineChart['lines'],
): LineChart => ({
  type: 'lines',
  title,
  x: { name: x, log: true },
  y: { name: y, log: true },
  lines,
})

/** A bar or line that stands out. */
const OURS = /wide-cache|^collector$|^activity\./

const WIDTH = 860
const MARGIN = 16
const LINE = 18
const FONT = 13
/** Widths of letters are guessed: no font is at hand where a chart is drawn. */
const LETTER = FONT * 0.53
const LABELS = 250
const BAR = 16
const CAP = 4
const PLOT = 320
const VALUES = 110
/** More points are a line without circles. */
const MOST_CIRCLES = 40

/** Readable on white and on black; the first one is that of wide-cache. */
const COLOURS = [
  '#1f6feb',
  '#d1603d',
  '#3a8f5c',
  '#9a6dc4',
  '#b8901f',
  '#7d8590',
  '#c2477f',
  '#3aa0a8',
]
const OTHER = '#8b949e'

const STYLE =
  `text{font:${FONT}px system-ui,sans-serif;fill:#1f2328}.title{font-size:15px;font-weight:600}` +
  '.ours{font-weight:700}.grid{stroke:#8b949e;stroke-opacity:.35}' +
  '.spread{stroke:#1f2328;fill:none}' +
  '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.spread{stroke:#e6edf3}}'

export function svg(chart: Chart): string {
  const title = wrapped(chart.title, WIDTH - 2 * MARGIN, 15 / FONT)
  const lineAt = (at: number): number => MARGIN + LINE * (at + 0.7)
  const head = title.map((line, at) => text(WIDTH / 2, lineAt(at), line, 'middle', 'title'))
  const top = MARGIN + LINE * title.length + 10
  const { height, parts } = chart.type === 'bars' ? bars(chart, top) : lines(chart, top)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>${escaped(chart.title)}</title>`,
    `<style>${STYLE}</style>`,
    ...head,
    ...parts,
    '</svg>\n',
  ].join('\n')
}

function bars({ x, groups }: BarChart, top: number) {
  const all = groups.flatMap((group) => group.bars)
  const [from, to] = [MARGIN + LABELS, WIDTH - MARGIN - VALUES]
  const values = all.flatMap(({ value, high = value, low = value }) => [value, high, low])
  const scale = scaleOf(x, values, from, to)
  const parts: string[] = []
  let y = top
  for (const { name, bars } of groups) {
    if (name !== undefined) {
      for (const line of wrapped(name, WIDTH - 2 * MARGIN)) {
        parts.push(text(MARGIN, (y += LINE) - 4, line, 'start', 'ours'))
      }
    }
    for (const bar of [...bars].sort((a, b) => a.value - b.value)) {
      const { value, low = value, high = value } = bar
      const ours = OURS.test(bar.name)
      const label = wrapped(bar.name, LABELS - 10)
      const height = Math.max(BAR, label.length * LINE)
      const middle = y + height / 2
      const { said = number(value) } = bar
      const ends = [scale.at(0), scale.at(value)].sort((a, b) => a - b) as [number, number]
      const lineAt = (at: number): number => middle + 4.5 + LINE * (at - (label.length - 1) / 2)
      parts.push(
        ...label.map((line, at) => text(from - 8, lineAt(at), line, 'end', ours ? 'ours' : '')),
        `<rect x="${px(ends[0])}" y="${px(middle - BAR / 2)}" ` +
          `width="${px(ends[1] - ends[0])}" height="${BAR}" fill="${ours ? COLOURS[0] : OTHER}"/>`,
        ...(low === high ? [] : [across(scale.at(low), scale.at(high), middle)]),
        text(Math.max(ends[1], scale.at(high)) + 6, middle + 4.5, said, 'start'),
      )
      y += height + 8
    }
    y += 8
  }
  const grid = scale.ticks.map((tick) => upright(scale.at(tick), top - 2, y))
  const labels = scale.ticks.map((tick) => text(scale.at(tick), y + LINE, tickText(tick)))
  const name = text((from + to) / 2, y + 2 * LINE + 4, x.name)
  return { height: y + 2 * LINE + MARGIN, parts: [...grid, ...parts, ...labels, name] }
}

function lines({ x, y, lines }: LineChart, top: number) {
  const [left, right] = [MARGIN + 80, WIDTH - MARGIN - 20]
  const names = lines.map(({ name }) => name)
  const legend = legendOf(names, right - MARGIN)
  const from = top + legend.rows * LINE + 12
  const bottom = from + PLOT
  const shown = lines.map((line) => ({
    ...line,
    points: line.points.filter((point) => !y.log || point.y > 0),
  }))
  const points = shown.flatMap((line) => line.points)
  const heights = points
    .flatMap(({ y: value, low = value, high = value }) => [value, low, high])
    .filter((each) => !y.log || each > 0)
  const widths = points.map((point) => point.x)
  const [across, up] = [scaleOf(x, widths, left, right), scaleOf(y, heights, bottom, from)]
  const parts = shown.flatMap(({ name, points, dashed = false }, at) => {
    const colour = colourOf(name, at)
    const wide = OURS.test(name) ? 3 : 1.5
    const path = points.map((point) => `${px(across.at(point.x))} ${px(up.at(point.y))}`)
    return [
      `<path d="M${path.join('L')}" fill="none" stroke="${colour}" stroke-width="${wide}"` +
        `${dashed ? ' stroke-dasharray="6 4"' : ''}/>`,
      ...points.flatMap(({ x, y: value, low, high }) => {
        const [cx, cy] = [px(across.at(x)), px(up.at(value))]
        const spread = low !== undefined && high !== undefined && low < high && !(y.log && low <= 0)
        return [
          ...(dashed || points.length > MOST_CIRCLES
            ? []
            : [`<circle cx="${cx}" cy="${cy}" r="3.5" fill="${colour}"/>`]),
          ...(spread
            ? [`<path d="M${cx} ${px(up.at(low))}V${px(up.at(high))}" stroke="${colour}"/>`]
            : []),
        ]
      }),
    ]
  })
  return {
    height: bottom + 2 * LINE + MARGIN + 4,
    parts: [
      ...legend.items.flatMap(({ name, x, row }, at) => [
        `<rect x="${px(MARGIN + x)}" y="${px(top + row * LINE)}" width="14" height="10" ` +
          `fill="${colourOf(name, at)}"${lines[at]!.dashed ? ' fill-opacity=".4"' : ''}/>`,
        text(MARGIN + x + 20, top + row * LINE + 10, name, 'start', OURS.test(name) ? 'ours' : ''),
      ]),
      ...up.ticks.flatMap((tick) => [
        `<path class="grid" d="M${left} ${px(up.at(tick))}H${right}"/>`,
        text(left - 8, up.at(tick) + 4.5, tickText(tick), 'end'),
      ]),
      ...across.ticks.flatMap((tick) => [
        upright(across.at(tick), from, bottom),
        text(across.at(tick), bottom + LINE, tickText(tick)),
      ]),
      ...parts,
      text((left + right) / 2, bottom + 2 * LINE + 4, x.name),
      `<text transform="translate(${MARGIN + 6} ${(from + bottom) / 2}) rotate(-90)" ` +
        `text-anchor="middle">${escaped(y.name)}</text>`,
    ],
  }
}

/** In rows under the title, above all that is drawn. */
function legendOf(names: readonly string[], width: number) {
  let [x, row] = [0, 0]
  const items = names.map((name) => {
    const wide = 20 + name.length * LETTER + 20
    if (x > 0 && x + wide > width) [x, row] = [0, row + 1]
    const item = { name, x, row }
    x += wide
    return item
  })
  return { items, rows: row + 1 }
}

function colourOf(name: string, at: number): string {
  return OURS.test(name) ? COLOURS[0]! : COLOURS[1 + (at % (COLOURS.length - 1))]!
}

/** From `from` to `to` on the picture. */
function scaleOf({ log = false }: Axis, values: readonly number[], from: number, to: number) {
  const ticks = log ? tenfold(values) : even(Math.min(0, ...values), Math.max(0, ...values))
  const of = (value: number): number => (log ? Math.log10(value) : value)
  const [low, high] = [of(ticks[0]!), of(ticks.at(-1)!)]
  return {
    ticks,
    at: (value: number): number => from + ((of(value) - low) / (high - low)) * (to - from),
  }
}

function tenfold(values: readonly number[]): number[] {
  const first = Math.floor(Math.log10(Math.min(...values)))
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))))
  return Array.from({ length: last - first + 1 }, (_, at) => 10 ** (first + at))
}

/** About five steps of 1, 2 or 5 and noughts. */
function even(low: number, high: number): number[] {
  const rough = (high - low || 1) / 5
  const ten = 10 ** Math.floor(Math.log10(rough))
  const step = ten * ([1, 2, 5].find((times) => times * ten >= rough) ?? 10)
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step) || 1]
  return Array.from({ length: last - first + 1 }, (_, at) =>
    Number(((first + at) * step).toPrecision(12)),
  )
}

function tickText(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 6 })
}

/** Lines of a text that are no wider than `width`; a word is never cut. */
export function wrapped(text: string, width: number, size = 1): string[] {
  const most = Math.floor(width / (LETTER * size))
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > most) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

function across(low: number, high: number, y: number): string {
  const cap = (x: number): string => `M${px(x)} ${px(y - CAP)}v${2 * CAP}`
  return `<path class="spread" d="M${px(low)} ${px(y)}H${px(high)}${cap(low)}${cap(high)}"/>`
}

function upright(x: number, from: number, to: number): string {
  return `<path class="grid" d="M${px(x)} ${px(from)}V${px(to)}"/>`
}

function text(x: number, y: number, said: string, anchor = 'middle', kind = ''): string {
  const given = kind === '' ? '' : ` class="${kind}"`
  return `<text x="${px(x)}" y="${px(y)}" text-anchor="${anchor}"${given}>${escaped(said)}</text>`
}

function px(value: number): number {
  return Number(value.toFixed(1))
}

function escaped(said: string): string {
  return said.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
