import { html } from './dom.js'

/**
 * A table of texts. The first cell of each row names the row.
 *
 * @param {string} caption
 * @param {readonly string[]} columns
 * @param {readonly (readonly string[])[]} rows
 */
export function table(caption, columns, rows) {
  return html(
    'table.plain',
    html('caption.hidden', caption),
    html('thead', html('tr', ...columns.map((column) => html('th', { scope: 'col' }, column)))),
    html(
      'tbody',
      ...rows.map(([first = '', ...others]) =>
        html('tr', html('th', { scope: 'row' }, first), ...others.map((cell) => html('td', cell))),
      ),
    ),
  )
}
