/**
 * CSV as RFC 4180 has it, which spreadsheets open without carrying out what visitors have sent.
 */

/** A text that a spreadsheet would take for a formula. */
const FORMULA = /^[=+\-@\t\r]/

/** A text that needs quotes around it. */
const SPECIAL = /[",\r\n]/

/** One row, with its line end. `null` is an empty cell. */
export function csvRow(cells: readonly (string | number | null)[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`
}

function cellOf(cell: string | number | null): string {
  if (typeof cell !== 'string') return cell === null ? '' : String(cell)
  const text = FORMULA.test(cell) ? `'${cell}` : cell
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
