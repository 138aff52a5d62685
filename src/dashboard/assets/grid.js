/**
 * The grid as a heat map: a row for each layer, newest first, and a column for each of its columns.
 * It is a table, so that it can be read as one.
 */
import { html } from './dom.js'
import { at, counted, numbersWith } from './format.js'

/** More columns are shown in groups: a cell of the picture is then several of the grid. */
const MAX_COLUMNS = 60
/** Frames from which a cell has the next shade: always the same, so that days can be compared. */
const SHADES = [1, 2, 5, 10, 20]

const tenths = numbersWith({ maximumFractionDigits: 1 })

/** @typedef {{ frames: number, bytes: number }} Cell */
/** @typedef {{ start: string, pageViews: number, cells: readonly Cell[] }} Layer */
/**
 * @typedef {object} Live
 * @property {string} asOf
 * @property {number} layerSeconds
 * @property {readonly Layer[]} layers
 * @property {boolean} sampled
 */

export function gridPanel() {
  const columnWidths = html('colgroup')
  const head = html('thead.hidden')
  const body = html('tbody')
  const line = html('tr.watermark')
  const heat = html(
    'table.cells',
    html('caption.hidden', 'Frames in the cells of the grid, newest layer first'),
    columnWidths,
    head,
    body,
  )
  const element = html('section.card', { id: 'grid', 'aria-label': 'Grid' })
  const sum = html('p.quiet.small')
  /** @type {Map<string, HTMLTableRowElement>} */
  const rows = new Map()
  let width = -1

  const explained = html(
    'p.quiet.small',
    'A cell holds the frames of some seconds, darker with more of them. The collector empties ' +
      'the oldest row, and the watermark follows.',
  )

  element.append(html('h2', 'Grid'), heat, sum, explained)
  return { element, update }

  /** @param {Live | null} live */
  function update(live) {
    element.classList.toggle('missing', live === null)
    if (!live) return
    const layers = live.layers.map((layer) => ({ ...layer, cells: grouped(layer.cells) }))
    const columns = Math.max(0, ...layers.map(({ cells }) => cells.length))
    if (columns !== width) clear(columns)
    draw(layers, Date.parse(live.asOf), live.layerSeconds * 1000)
    const cells = live.layers.flatMap((layer) => layer.cells)
    sum.textContent =
      `${counted(add(cells, 'frames'), 'frame')}, ${size(add(cells, 'bytes'))} in ` +
      `${counted(live.layers.length, 'layer')} of ${counted(live.layerSeconds, 'second')}.` +
      (live.sampled ? ' Only some columns were read.' : '')
  }

  /** @param {number} columns */
  function clear(columns) {
    width = columns
    rows.clear()
    body.replaceChildren()
    columnWidths.replaceChildren(html('col.times'), html('col', { span: columns }))
    head.replaceChildren(
      html(
        'tr',
        html('th', { scope: 'col' }, 'Layer'),
        ...Array.from({ length: columns }, (_, at) =>
          html('th', { scope: 'col' }, `Column ${at + 1}`),
        ),
      ),
    )
  }

  /**
   * @param {readonly Layer[]} layers
   * @param {number} watermark
   * @param {number} layerMs
   */
  function draw(layers, watermark, layerMs) {
    const kept = new Set(layers.map(({ start }) => start))
    for (const [start, row] of rows) {
      if (kept.has(start)) continue
      row.remove()
      rows.delete(start)
    }
    const newestFirst = layers.toReversed()
    const drained = newestFirst.filter(({ start }) => Date.parse(start) + layerMs <= watermark)
    for (const layer of newestFirst) {
      const row = rows.get(layer.start) ?? newRow(layer.start)
      row.classList.toggle('drained', drained.includes(layer))
      layer.cells.forEach((cell, at) => shade(row.cells[at + 1], cell))
    }
    line.replaceChildren(
      html(
        'th',
        { scope: 'row', colspan: width + 1 },
        html('span', `Watermark ${at('seconds', watermark)}`),
      ),
    )
    const waiting = newestFirst.filter((layer) => !drained.includes(layer))
    arrange([
      ...waiting.map(({ start }) => rows.get(start)),
      line,
      ...drained.map(({ start }) => rows.get(start)),
    ])
  }

  /** @param {string} start */
  function newRow(start) {
    const row = html(
      'tr',
      html('th', { scope: 'row' }, at('seconds', Date.parse(start))),
      ...Array.from({ length: width }, () => html('td')),
    )
    rows.set(start, row)
    return row
  }

  /**
   * Moves only what is not in its place, so that fading cells go on fading.
   *
   * @param {readonly (HTMLTableRowElement | undefined)[]} wanted
   */
  function arrange(wanted) {
    wanted.forEach((row, at) => {
      if (row && body.rows[at] !== row) body.insertBefore(row, body.rows[at] ?? null)
    })
  }
}

/**
 * @param {HTMLTableCellElement | undefined} td
 * @param {Cell} cell
 */
function shade(td, { frames, bytes }) {
  if (!td) return
  const text = frames === 0 ? '' : `${counted(frames, 'frame')}, ${size(bytes)}`
  td.className = `s${SHADES.filter((least) => least <= frames).length}`
  if (td.title === text) return
  td.title = text
  td.replaceChildren(html('span.hidden', text))
}

/** @param {readonly Cell[]} cells */
function grouped(cells) {
  const group = Math.ceil(cells.length / MAX_COLUMNS)
  if (group <= 1) return cells
  return Array.from({ length: Math.ceil(cells.length / group) }, (_, at) => {
    const some = cells.slice(at * group, (at + 1) * group)
    return { frames: add(some, 'frames'), bytes: add(some, 'bytes') }
  })
}

/**
 * @param {readonly Cell[]} cells
 * @param {keyof Cell} what
 */
function add(cells, what) {
  return cells.reduce((sum, cell) => sum + cell[what], 0)
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1_000) return counted(bytes, 'byte')
  if (bytes < 1_000_000) return `${tenths.format(bytes / 1_000)} kB`
  return `${tenths.format(bytes / 1_000_000)} MB`
}
