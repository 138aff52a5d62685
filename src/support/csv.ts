/** Comma-separated values by RFC 4180, safe to open in a spreadsheet. */

/**
 * Spreadsheets run a cell that begins like this as a formula. The full-width forms are run in some
 * languages. A page or referrer is text from strangers.
 */
const FORMULA = /^[\t\r\n]|^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/
const NEEDS_QUOTES = /[",;\t\r\n]|^\s|\s$/

/** A cell; `null` is an empty one. */
export type Cell = string | number | true | null

/** One row, with its line end. */
export function csvRow(cells: readonly Cell[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`
}

/** An apostrophe before what looks like a formula makes it a text. */
function cellOf(cell: Cell): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell)
  const text = FORMULA.test(cell) ? `'${cell}` : cell
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
