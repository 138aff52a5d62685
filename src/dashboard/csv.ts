/** Comma-separated values by RFC 4180, safe to open in a spreadsheet. */

/**
 * Spreadsheets run a cell that begins like this as a formula. The full-width forms are run in some
 * languages. A page or referrer is text from strangers.
 */
const FORMULA = /^[\t\r\n]|^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/
const NEEDS_QUOTES = /[",;\t\r\n]|^\s|\s$/

/** A cell. An apostrophe before what looks like a formula makes it a text. */
export function csvCell(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A line with its end. */
export function csvLine(cells: readonly (string | number)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}
